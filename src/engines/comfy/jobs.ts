import { createHash } from 'node:crypto'
import { isNoPrompt } from '#contract/operations/video.ts'
import type { JobUpstreamOptions } from '../http/upstream-options.ts'
import { readImage } from '../images/image-file.ts'
import { submissionMs, UpstreamJobs } from '../jobs/job-upstream.ts'
import type { Carries, MusicChoice, VideoChoice } from '../ports/engine.ts'
import type {
  EngineState,
  JobProgress,
  MusicCall,
  MusicEngine,
  VideoCall,
  VideoEngine,
} from '../ports/media-engines.ts'
import { mediaFormat, mimeTypes, shortSideOf, videoPlan } from '../video-media/media-limits.ts'
import { ComfyServer, comfyBeginnings, comfyQuestionMs, type MadeFile } from './server.ts'
import { type Placeholder, referencePlaces, type UploadedFile, Workflow, type WorkflowValues } from './workflow.ts'

export interface ComfyJobsOptions extends JobUpstreamOptions {
  /**
   * A workflow as ComfyUI exports it for its API, with placeholders such as `{{prompt}}` in its strings. It must save
   * the result.
   */
  workflow: unknown
}

interface JobCall {
  jobId: string
  signal: AbortSignal
}

/** Where the files of a request are uploaded, and which placeholders exist. */
interface ComfyStage {
  workflow: Workflow
  server: { upload(file: UploadedFile, signal: AbortSignal): Promise<string> }
}

/** The values that a kind of job puts into its workflow, and which of the resulting files is its result. */
interface ComfyJobKind<Call extends JobCall> {
  /** Returns a sentence if the request cannot be used. */
  valuesOf(call: Call, on: ComfyStage, signal: AbortSignal): Promise<WorkflowValues | string>
  files: RegExp
  /** The kind of file that is missing, such as `MP4`. */
  fileWord: string
}

/**
 * Runs jobs as a workflow on a ComfyUI server. The work carries the job's id, so that after an unanswered submission it
 * is found again in the queue or the history. If the server has forgotten the work, it is submitted again.
 */
abstract class ComfyJobs<Call extends JobCall> extends UpstreamJobs<Call> {
  readonly workflow: Workflow
  readonly #kind: ComfyJobKind<Call>
  readonly #server: ComfyServer

  /** Throws a sentence if the address, the key or the workflow is invalid. */
  constructor(options: ComfyJobsOptions, kind: ComfyJobKind<Call>) {
    super(options, { knowsAgain: true })
    this.workflow = new Workflow(options.workflow)
    this.#kind = kind
    this.#server = new ComfyServer(options)
  }

  override async close(): Promise<void> {
    await Promise.all([this.#server.close(), super.close()])
  }

  protected override async submit(call: Call, beginnings = 1): Promise<JobProgress> {
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(submissionMs)])
    const known = await this.#server.findByOurs(call.jobId, signal)
    if (known !== null) return running(known, beginnings)
    const values = await this.#kind.valuesOf(call, { workflow: this.workflow, server: this.#server }, signal)
    if (typeof values === 'string') return { state: 'failed', reason: values }
    const names = { id: call.jobId, clientId: call.jobId }
    return running(await this.#server.submit(this.workflow.filled(values), names, signal), beginnings)
  }

  protected override async look(call: Call, state: EngineState): Promise<JobProgress> {
    const id = String(state.promptId)
    const beginnings = Number(state.beginnings ?? 1)
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(comfyQuestionMs)])
    const found = await this.#server.look(id, signal)
    switch (found.state) {
      case 'waiting':
        return { state: 'running', engineState: state }
      case 'failed':
        return { state: 'failed', reason: 'The engine could not complete the request.' }
      case 'unknown':
        // If the server has forgotten a job, it is not working on it.
        if (beginnings >= comfyBeginnings) return { state: 'failed', reason: 'The engine lost the job.' }
        return this.submit(call, beginnings + 1)
      case 'done':
        return this.#fetch(call, found.files)
    }
  }

  async #fetch({ jobId, signal }: Call, files: readonly MadeFile[]): Promise<JobProgress> {
    const { files: wanted, fileWord } = this.#kind
    const file = files.find(({ filename }) => wanted.test(filename))
    if (!file) return { state: 'failed', reason: `The engine made no ${fileWord}.` }
    const response = await this.#server.file(file, signal)
    return this.upstream.keep(jobId, { kind: 'file', status: 200, mimeType: '', response })
  }
}

const running = (promptId: string, beginnings: number): JobProgress => ({
  state: 'running',
  engineState: { promptId, beginnings },
})

/** Returns the same seed if a job is started again. */
const seedOf = (jobId: string): number => createHash('sha256').update(jobId).digest().readUInt32BE(0)

/** Which placeholder takes each field of a request. ComfyUI does not write lyrics. */
const musicPlaceOf: Partial<Record<MusicChoice, Placeholder>> = {
  prompt: 'prompt',
  lyrics_prompt: 'lyrics',
  duration_seconds: 'seconds',
  force_instrumental: 'instrumental',
  voice: 'voice',
  language_code: 'language',
  speed: 'speed',
}

/** Fields that a request may omit, so their placeholder needs a default. */
const optional = ['lyrics', 'voice', 'language', 'speed'] as const

/** Makes music with a workflow on a ComfyUI server, which saves an MP3, WAV or FLAC. */
export class ComfyMusic extends ComfyJobs<MusicCall> implements MusicEngine {
  /** Throws a sentence if the address, the key or the workflow is invalid. */
  constructor(options: ComfyJobsOptions) {
    const kind = { valuesOf: musicValuesOf, files: /\.(mp3|wav|flac)$/i, fileWord: 'MP3, WAV or FLAC' }
    super({ ...options, makes: 'audio' }, kind)
    const bare = optional.find(name => this.workflow.needed.has(name))
    if (bare) throw new Error(`{{${bare}}} is optional in requests: write {{${bare}|a default}} in the workflow.`)
  }

  readonly carries: Carries<MusicChoice> = field => {
    const place = musicPlaceOf[field]
    return place !== undefined && this.workflow.names.has(place)
  }
}

async function musicValuesOf({ request, engineModel, jobId }: MusicCall): Promise<WorkflowValues> {
  const { prompt, lyrics, seconds, isInstrumental, voice, languageCode, speed } = request
  return {
    ...{ prompt, seconds, instrumental: isInstrumental, model: engineModel },
    seed: seedOf(jobId),
    // An instrumental has no lyrics, whatever else was sent.
    ...(lyrics === undefined || isInstrumental ? {} : { lyrics }),
    ...(voice === undefined ? {} : { voice }),
    ...(languageCode === undefined ? {} : { language: languageCode }),
    ...(speed === undefined ? {} : { speed }),
  }
}

/** Makes videos with a workflow on a ComfyUI server, which saves an MP4. */
export class ComfyVideo extends ComfyJobs<VideoCall> implements VideoEngine {
  /** Throws a sentence if the address, the key or the workflow is invalid. */
  constructor(options: ComfyJobsOptions) {
    super(options, { valuesOf, files: /\.mp4$/i, fileWord: 'MP4' })
  }

  readonly carries: Carries<VideoChoice> = (field, value) => {
    const has = (name: Placeholder) => this.workflow.names.has(name)
    const hasSize = has('width') && has('height')
    if (field === 'aspect_ratio') return has('aspect_ratio') || hasSize
    if (field === 'resolution') return has('resolution') || (hasSize && shortSideOf(value) !== null)
    if (field === 'reference_image_urls') {
      const least = Array.isArray(value) ? value.length : 1
      return referencePlaces.slice(0, least).every(has)
    }
    const place = placeOf[field]
    return place !== undefined && has(place)
  }
}

/** Which placeholder takes each field of a request; the others have none. */
const placeOf: Partial<Record<VideoChoice, Placeholder>> = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  duration: 'seconds',
  upscale_factor: 'scale',
  audio: 'with_audio',
  image_url: 'image',
  end_image_url: 'end_image',
  audio_url: 'audio',
  video_url: 'video',
}

/** Returns a sentence if a media file cannot be used. */
async function valuesOf(
  { request, engineModel, jobId }: VideoCall,
  { workflow, server }: ComfyStage,
  signal: AbortSignal,
): Promise<WorkflowValues | string> {
  const { width, height, seconds, audio } = videoPlan(request)
  const values: Partial<Record<Placeholder, string | number | boolean>> = {
    ...{ prompt: isNoPrompt(request.prompt) ? '' : request.prompt, negative_prompt: request.negative_prompt ?? '' },
    ...{ width, height, seconds, with_audio: audio, model: engineModel },
    seed: seedOf(jobId),
    ...(request.aspect_ratio === undefined ? {} : { aspect_ratio: request.aspect_ratio }),
    ...(request.resolution === undefined ? {} : { resolution: request.resolution }),
    ...(request.upscale_factor === undefined ? {} : { scale: request.upscale_factor }),
  }
  for (const [place, field, url] of mediaOf(request)) {
    if (!workflow.names.has(place)) return `The engine does not support ${field}.`
    const file = field.includes('image') ? imageOf(url) : mediaItemOf(url)
    if (typeof file === 'string') return `${field} cannot be used: ${file}.`
    values[place] = await server.upload(file, signal)
  }
  return values
}

type PlacedMediaItem = readonly [place: Placeholder, field: string, url: string]

function mediaOf(request: VideoCall['request']): PlacedMediaItem[] {
  const single = [
    ['image', 'image_url', request.image_url],
    ['end_image', 'end_image_url', request.end_image_url],
    ['audio', 'audio_url', request.audio_url],
    ['video', 'video_url', request.video_url],
  ] as const
  const references = (request.reference_image_urls ?? []).flatMap((url, index): PlacedMediaItem[] => {
    const place = referencePlaces[index]
    return place ? [[place, 'reference_image_urls', url]] : []
  })
  return [
    ...single.flatMap(([place, field, url]) => (url === undefined ? [] : [[place, field, url] as const])),
    ...references,
  ]
}

function imageOf(url: string): UploadedFile | string {
  const read = readImage(url)
  if (!read.ok) return read.problem
  const { type, bytes } = read.image
  return { extension: type, mimeType: `image/${type}`, bytes }
}

/** It was detected and measured when the request was accepted. */
function mediaItemOf(url: string): UploadedFile | string {
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  const format = mediaFormat(bytes)
  return format === null ? 'the format is unknown' : { extension: format, mimeType: mimeTypes[format], bytes }
}
