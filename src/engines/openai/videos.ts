import { FormData } from 'undici'
import { isNoPrompt } from '#contract/operations/video.ts'
import type { JobUpstreamOptions } from '../http/upstream-options.ts'
import {
  errorWords,
  failedJob,
  type JobAnswer,
  jobQuestionMs,
  lostJob,
  runningJob,
  submissionMs,
  UpstreamJobs,
} from '../jobs/job-upstream.ts'
import { NotTaken } from '../jobs/once-sent.ts'
import type { Carries, VideoChoice } from '../ports/engine.ts'
import type { EngineState, JobProgress, VideoCall, VideoEngine } from '../ports/media-engines.ts'
import { secondsOf, shortSideOf, videoPlan } from '../video-media/media-limits.ts'

export interface OpenAiVideosOptions extends JobUpstreamOptions {
  /** Whether the server makes only one video from two requests with the same `Idempotency-Key`; most do not. */
  takesKeys?: boolean
}

const formFields: ReadonlySet<VideoChoice> = new Set(['prompt', 'duration', 'aspect_ratio', 'image_url'])

/** Any server with OpenAI's video API: a job is created and polled, and its content fetched and deleted. */
export class OpenAiVideos extends UpstreamJobs<VideoCall> implements VideoEngine {
  /** OpenAI's form has only a prompt, a length, a size and a first frame. */
  readonly carries: Carries<VideoChoice> = (field, value) =>
    field === 'resolution' ? shortSideOf(value) !== null : formFields.has(field)

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: OpenAiVideosOptions) {
    super(options, { knowsAgain: options.takesKeys ?? false })
  }

  protected override async submit(call: VideoCall): Promise<JobProgress> {
    const answer = await this.upstream.ask({
      method: 'POST',
      path: '/videos',
      body: formOf(call),
      headers: { 'idempotency-key': call.jobId },
      timeoutMs: submissionMs,
      signal: call.signal,
    })
    if (answer.kind === 'json' && answer.status < 300) return createdAs(answer.body)
    return refusedAs(answer)
  }

  protected override async look({ jobId, signal }: VideoCall, state: EngineState): Promise<JobProgress> {
    const path = pathOf(state)
    const question = { method: 'GET', timeoutMs: jobQuestionMs, signal } as const
    const answer = await this.upstream.ask({ ...question, path })
    if (answer.status !== 200 || answer.kind !== 'json' || answer.body.status !== 'completed') {
      return verdictOf(answer, state)
    }
    const file = await this.upstream.ask({ ...question, path: `${path}/content` })
    if (file.kind !== 'file') throw new Error(`The engine answered ${file.status} instead of the video.`)
    return this.upstream.keep(jobId, file)
  }

  protected override discard({ signal }: VideoCall, state: EngineState): Promise<unknown> {
    return this.upstream.ask({ method: 'DELETE', path: pathOf(state), timeoutMs: jobQuestionMs, signal })
  }
}

const pathOf = ({ videoId }: EngineState): string => `/videos/${encodeURIComponent(String(videoId))}`

/** OpenAI's own members. An image is sent as a file in the form, never as an address. */
function formOf({ request, engineModel }: VideoCall): FormData {
  const { width, height } = videoPlan(request)
  const form = new FormData()
  form.set('model', engineModel)
  if (!isNoPrompt(request.prompt)) form.set('prompt', request.prompt)
  form.set('seconds', `${secondsOf(request.duration)}`)
  form.set('size', `${width}x${height}`)
  const { image_url: image } = request
  const [, type, base64] = /^data:(image\/[a-z0-9.+-]+);base64,(.*)$/is.exec(image ?? '') ?? []
  if (type && base64) {
    form.set('input_reference', new Blob([Buffer.from(base64, 'base64')], { type }), `image.${type.slice(6)}`)
  }
  return form
}

function createdAs({ id }: Record<string, unknown>): JobProgress {
  if (typeof id !== 'string' || id === '') throw new Error('The engine accepted the job but returned no id for it.')
  return { state: 'running', engineState: { videoId: id } }
}

const contentWords = /moderation|content_policy|content_filter|safety/i
const refusedContent = () => failedJob('The model refused the content of this request.', true)

function refusedAs(answer: JobAnswer): JobProgress {
  const { status } = answer
  const words = answer.kind === 'json' ? errorWords(answer.body) : ''
  if (status === 429 || status === 503) throw new NotTaken()
  if ([401, 402, 403, 404, 405].includes(status)) return failedJob('The engine cannot be used at the moment.')
  if (status >= 400 && status < 500 && status !== 408 && status !== 409) {
    return contentWords.test(words) ? refusedContent() : failedJob('The engine does not accept this request.')
  }
  throw new Error(`The engine answered ${status} to a job.`)
}

/** Returns the job's state according to an answer without a finished video. */
function verdictOf(answer: JobAnswer, state: EngineState): JobProgress {
  const body = answer.kind === 'json' ? answer.body : {}
  if (answer.status === 200) {
    if (body.status !== 'failed' && body.status !== 'cancelled') return runningJob(state)
    return contentWords.test(errorWords(body)) ? refusedContent() : failedJob('The engine could not make this video.')
  }
  if (answer.status !== 404 && answer.status !== 410) {
    throw new Error(`The engine answered ${answer.status} when polled for a job.`)
  }
  return lostJob(state, 'The engine lost the job.')
}
