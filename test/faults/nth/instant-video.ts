import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'

/** Done at the second look, or failed where the prompt says so. */
export class InstantVideo implements VideoEngine {
  readonly carries = () => true
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async start(): Promise<JobProgress> {
    return { state: 'running', engineState: { at: 'work' } }
  }

  async poll({ jobId, request }: VideoCall): Promise<JobProgress> {
    if (request.prompt.includes('fails')) return { state: 'failed', reason: 'It was asked to.' }
    await mkdir(this.#folder, { recursive: true })
    const path = join(this.#folder, `${jobId}.mp4`)
    await writeFile(path, 'a film')
    return { state: 'completed', path, mimeType: 'video/mp4' }
  }
}
