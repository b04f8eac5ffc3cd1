import { createHash } from 'node:crypto'
import type { Carries, MusicChoice } from '../ports/carried-choices.ts'
import type { EngineState, JobProgress, MusicCall, MusicEngine } from '../ports/media-engines.ts'
import { ComfyJobs, type ComfyJobsOptions } from './jobs.ts'
import type { Placeholder, WorkflowValues } from './workflow.ts'

/** Where a field of a request stands in a workflow. ComfyUI writes no lyrics by itself. */
const placeOf: Partial<Record<MusicChoice, Placeholder>> = {
  prompt: 'prompt',
  lyrics_prompt: 'lyrics',
  duration_seconds: 'seconds',
  force_instrumental: 'instrumental',
  voice: 'voice',
  language_code: 'language',
  speed: 'speed',
}

/** What a request may leave out, so that its place needs a default. */
const optional = ['lyrics', 'voice', 'language', 'speed'] as const

/** Music by a workflow on a ComfyUI server; it saves an MP3, a WAV or a FLAC. */
export class ComfyMusic implements MusicEngine {
  readonly #jobs: ComfyJobs<MusicCall>

  /** Throws a sentence where the address, the key or the workflow cannot be used. */
  constructor(options: ComfyJobsOptions) {
    const kind = { valuesOf, files: /\.(mp3|wav|flac)$/i, fileWord: 'MP3, WAV or FLAC' }
    this.#jobs = new ComfyJobs({ ...options, makes: 'sound' }, kind)
    const bare = optional.find(name => this.#jobs.workflow.needed.has(name))
    if (bare) throw new Error(`A request may leave out {{${bare}}}: write {{${bare}|a default}} into the workflow.`)
  }

  readonly carries: Carries<MusicChoice> = field => {
    const place = placeOf[field]
    return place !== undefined && this.#jobs.workflow.names.has(place)
  }

  start(call: MusicCall): Promise<JobProgress> {
    return this.#jobs.start(call)
  }

  poll(call: MusicCall, state: EngineState): Promise<JobProgress> {
    return this.#jobs.poll(call, state)
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#jobs.close()
  }
}

async function valuesOf({ request, engineModel, jobId }: MusicCall): Promise<WorkflowValues> {
  const { prompt, lyrics, seconds, isInstrumental, voice, languageCode, speed } = request
  return {
    ...{ prompt, seconds, instrumental: isInstrumental, model: engineModel },
    // The same for a job that is begun anew.
    seed: createHash('sha256').update(jobId).digest().readUInt32BE(0),
    // An instrumental has no words, whatever else was sent.
    ...(lyrics === undefined || isInstrumental ? {} : { lyrics }),
    ...(voice === undefined ? {} : { voice }),
    ...(languageCode === undefined ? {} : { language: languageCode }),
    ...(speed === undefined ? {} : { speed }),
  }
}
