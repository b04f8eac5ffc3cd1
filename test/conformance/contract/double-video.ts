import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'

/** What its prompt must hold for the engine to refuse it. */
export const refusedWord = 'forbidden'

/** Has every video at once, in a folder of its own: a few bytes that say that they are one. */
export class DoubleVideo implements VideoEngine {
  readonly carries = () => true
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async start({ request, jobId }: VideoCall): Promise<JobProgress> {
    if (request.prompt.includes(refusedWord)) {
      return { state: 'failed', reason: 'The prompt is not allowed.', contentPolicy: true }
    }
    const path = join(this.#folder, `${jobId}.mp4`)
    await writeFile(path, '\0\0\0\x18ftypisom')
    return { state: 'completed', path, mimeType: 'video/mp4' }
  }

  poll(call: VideoCall): Promise<JobProgress> {
    return this.start(call)
  }
}
