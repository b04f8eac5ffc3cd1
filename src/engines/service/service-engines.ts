import { FormData } from 'undici'
import { z } from 'zod'
import { isNoPrompt, VideoQueueRequest } from '#contract/operations/video.ts'
import { listOf } from '#contract/schemas.ts'
import { containsMinor, isAdultModelContentViolation, isBlurred, isContentViolation } from '#contract/wire/headers.ts'
import { defaultVendor, fromVendor, toVendor, vendorHeader } from '#contract/wire/vendor.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import type { JobUpstreamOptions, UpstreamOptions } from '../http/upstream-options.ts'
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
import { OpenAiSpeech, OpenAiTranscription } from '../openai/audio.ts'
import { OpenAiChat, type OpenAiChatOptions } from '../openai/chat.ts'
import { imageAnswerBytes } from '../openai/images.ts'
import { carriesAll } from '../ports/engine.ts'
import type {
  EngineFinding,
  EngineState,
  ImageCall,
  ImageEngine,
  JobProgress,
  VideoCall,
  VideoEngine,
  VoiceCall,
} from '../ports/media-engines.ts'
import { handedOn, type Members, membersOf, withPath } from '../ports/published-members.ts'

/** Largest answer about a voice: an id and a model's name. */
const voiceAnswerBytes = 64 * 1024

export interface ServiceChatOptions
  extends Omit<OpenAiChatOptions, 'optionMembers' | 'xSearch' | 'searchedAnswer' | 'withoutThinking' | 'lengthMember'> {
  /** The vendor word in the other service's headers and members. */
  vendor?: string
}

/** Another service with this API. We add prompts, searches and characters, so it is asked to add none. */
export class ServiceChat extends OpenAiChat {
  /** Throws one sentence if the address or the key is invalid. */
  constructor({ vendor = defaultVendor, ...options }: ServiceChatOptions) {
    const withParameters = (more: object) =>
      toVendor({ service_parameters: { include_service_system_prompt: false, ...more } }, vendor) as Record<
        string,
        unknown
      >
    super({
      ...options,
      lengthMember: 'max_completion_tokens',
      optionMembers: ({ isThinkingOff, searchesX }) =>
        withParameters({
          ...(isThinkingOff ? { disable_thinking: true } : {}),
          ...(searchesX ? { enable_x_search: true } : {}),
        }),
      xSearch: {},
      searchedAnswer: answer => withCitations(answer, fromVendor(answer, vendor)),
    })
  }
}

/** A service with this API lists its sources in the echo of its options, which we do not pass on. */
function withCitations(answer: Record<string, unknown>, named: unknown): Record<string, unknown> {
  const { service_parameters: echo } = named as { service_parameters?: { web_search_citations?: unknown } | null }
  const citations = echo?.web_search_citations
  return Array.isArray(citations) ? { ...answer, citations } : answer
}

/** Another service with this API, which has its own member for how to speak, and clones voices from recordings. */
export class ServiceSpeech extends OpenAiSpeech {
  readonly #voices: OpenAiUpstream

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: UpstreamOptions) {
    super({ ...options, styleMember: 'prompt' })
    this.#voices = new OpenAiUpstream(options, '/audio/voices')
  }

  /** Returns the voice's id there, which that service keeps for seven days. */
  async cloneVoice({ sample, engineModel, signal }: VoiceCall): Promise<string> {
    const form = new FormData()
    form.set('model', engineModel)
    form.set('file', new File([new Uint8Array(sample.bytes)], `voice.${sample.type}`, { type: `audio/${sample.type}` }))
    try {
      const answer = await this.#voices.json({ body: form, request: {}, signal }, voiceAnswerBytes)
      if (typeof answer?.id !== 'string' || answer.id === '')
        throw new Error('The service returned no id for the voice.')
      return answer.id
    } catch (error) {
      throw this.#voices.known(error, signal)
    }
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#voices.close()])
  }
}

/** Another service with this API, which has its own way of requesting times. */
export class ServiceTranscription extends OpenAiTranscription {
  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: UpstreamOptions) {
    super({ ...options, timesMember: 'timestamps' })
  }
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

const Answer = z.looseObject({ images: listOf(z.base64().min(1)).min(1) })

/** Another service with this API: its own image route supports every choice that ours does. */
export class ServiceImages implements ImageEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream
  readonly #vendor: string

  /** Throws one sentence if the address or the key is invalid. */
  constructor({ vendor = defaultVendor, ...options }: UpstreamOptions & { vendor?: string }) {
    this.#vendor = vendor
    this.#upstream = new OpenAiUpstream(options, '/image/generate')
  }

  async generate({ request, engineModel, signal, found }: ImageCall): Promise<Buffer[]> {
    const body = { model: engineModel, ...bodyOf(request), return_binary: false }
    try {
      const onHeaders = (headers: AnswerHeaders) => found?.(findingOf(headers, this.#vendor))
      const value = await this.#upstream.json({ body, request: bodyOf(request), signal, onHeaders }, imageAnswerBytes)
      const answer = Answer.safeParse(value).data
      if (!answer) throw new Error('The service returned no images.')
      return answer.images.map(image => Buffer.from(image, 'base64'))
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

const bodyOf = ({
  prompt,
  width,
  height,
  count,
  format,
  negativePrompt,
  seed,
  steps,
  cfgScale,
  style,
  safeMode,
}: ImageCall['request']) => ({
  prompt,
  width,
  height,
  variants: count,
  format,
  ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
  ...(seed === undefined ? {} : { seed }),
  ...(steps === undefined ? {} : { steps }),
  ...(cfgScale === undefined ? {} : { cfg_scale: cfgScale }),
  ...(style === undefined ? {} : { style_preset: style }),
  ...(safeMode === undefined ? {} : { safe_mode: safeMode }),
})

/** Reads the other service's own findings from its headers. */
function findingOf(headers: AnswerHeaders, vendor: string): EngineFinding {
  const read = ({ name, parse }: typeof isBlurred) =>
    parse(String(headers[vendorHeader(name, vendor)] ?? '')) ?? undefined
  const finding = {
    isBlurred: read(isBlurred),
    isViolation: read(isContentViolation),
    isAdultViolation: read(isAdultModelContentViolation),
    containsMinor: read(containsMinor),
  }
  return Object.fromEntries(Object.entries(finding).filter(([, value]) => value !== undefined))
}

export interface ServiceVideoOptions extends JobUpstreamOptions {
  /** Whether the service recognizes a repeated request by its `Idempotency-Key`, as farebox does. */
  takesKeys?: boolean
  /** Paths of members to forward in addition to the published ones. */
  passMembers?: readonly string[]
}

/**
 * Another service with this API. What it reports about our key, our credit or its load is not passed on, because our
 * callers could not fix it. It gets the consents that the caller gave us for the same provider.
 */
export class ServiceVideo extends UpstreamJobs<VideoCall> implements VideoEngine {
  readonly carries = carriesAll
  readonly #members: Members

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: ServiceVideoOptions) {
    super(options, { knowsAgain: options.takesKeys ?? true })
    this.#members = (options.passMembers ?? []).reduce(withPath, membersOf(VideoQueueRequest))
  }

  protected override async submit({ request, engineModel, jobId, signal }: VideoCall): Promise<JobProgress> {
    const { prompt, ...choices } = handedOn(request, this.#members)
    const answer = await this.upstream.ask({
      method: 'POST',
      path: '/video/queue',
      body: { ...choices, ...(isNoPrompt(prompt) ? {} : { prompt }), model: engineModel },
      headers: { 'idempotency-key': jobId },
      timeoutMs: submissionMs,
      signal,
    })
    if (answer.kind === 'json' && answer.status === 200) return queuedAs(answer.body)
    return refusedAs(answer)
  }

  protected override async look({ engineModel, jobId, signal }: VideoCall, state: EngineState): Promise<JobProgress> {
    const answer = await this.#ask('/video/retrieve', { engineModel, signal }, state)
    const file = await this.#fileOf(answer, state, signal)
    return file ? this.upstream.keep(jobId, file) : verdictOf(answer, state)
  }

  protected override discard(call: VideoCall, state: EngineState): Promise<unknown> {
    return this.#ask('/video/complete', call, state)
  }

  #ask(path: string, { engineModel, signal }: Pick<VideoCall, 'engineModel' | 'signal'>, { queueId }: EngineState) {
    const body = { model: engineModel, queue_id: queueId }
    return this.upstream.ask({ method: 'POST', path, body, timeoutMs: jobQuestionMs, signal })
  }

  async #fileOf(answer: JobAnswer, { downloadUrl }: EngineState, signal: AbortSignal) {
    if (answer.kind === 'file') return answer
    const isFinished = answer.status === 200 && answer.body.status === 'COMPLETED'
    if (!isFinished || typeof downloadUrl !== 'string') return null
    const file = await this.upstream.askFor(downloadUrl, signal)
    if (file.kind !== 'file') throw new Error(`The service answered ${file.status} instead of the video.`)
    return file
  }
}

function queuedAs({ queue_id: queueId, download_url: downloadUrl }: Record<string, unknown>): JobProgress {
  if (typeof queueId !== 'string') throw new Error('The service accepted the job but returned no id for it.')
  return { state: 'running', engineState: { queueId, ...(typeof downloadUrl === 'string' ? { downloadUrl } : {}) } }
}

/**
 * Reads an answer that refused the job: because of the caller's content, a consent that was not requested here, or our
 * own problems.
 */
function refusedAs(answer: JobAnswer): JobProgress {
  const words = answer.kind === 'json' ? errorWords(answer.body) : ''
  const { status } = answer
  if (status === 409 && words.includes('needs_consent')) {
    return failedJob('The provider of this model requires a consent that was not given here.')
  }
  if (status === 422 && !/idempotency/i.test(words)) {
    return refusedContent()
  }
  if ([400, 404, 410, 413, 415].includes(status))
    return failedJob('The provider of this model does not accept this request.')
  if ([401, 402, 403].includes(status)) return failedJob('The provider of this model cannot be used at the moment.')
  if (status === 429 || status === 503) throw new NotTaken()
  throw new Error(`The service answered ${status} to a job.`)
}

const refusedContent = () => failedJob('The provider of this model refused the content of this request.', true)

/**
 * Returns the job's state according to an answer without a video. In this API a failure is a separate kind of answer
 * (published contract §4.4).
 */
function verdictOf(answer: JobAnswer, state: EngineState): JobProgress {
  const body = answer.kind === 'json' ? answer.body : {}
  const { status } = answer
  if (status === 200) return runningJob(state)
  if (status === 422) return refusedContent()
  if (status === 500 && body.error === 'Inference processing failed')
    return failedJob('The provider of this model failed.')
  if (![400, 404, 410, 500].includes(status)) throw new Error(`The service answered ${status} when polled for a job.`)
  return lostJob(state, 'The provider of this model lost the job.')
}
