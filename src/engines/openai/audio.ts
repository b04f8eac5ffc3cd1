import { FormData } from 'undici'
import { z } from 'zod'
import { unreadableSpeech } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { Transcription } from '#contract/operations/audio.ts'
import { listOf } from '#contract/schemas.ts'
import { speechBytes } from '../audio/recording.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import { eventError } from '../http/upstream-error.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import { carriesAll } from '../ports/engine.ts'
import type {
  SpeechCall,
  SpeechEngine,
  TranscribedSpeech,
  TranscriptionCall,
  TranscriptionEngine,
} from '../ports/media-engines.ts'

/** Largest transcription: hours of words with their times. */
const transcriptBytes = 16 * 1024 * 1024

export interface OpenAiSpeechOptions extends UpstreamOptions {
  /** The server's member for how to speak; OpenAI's `instructions` by default. */
  styleMember?: 'instructions' | 'prompt'
}

/** Any server with OpenAI's speech API. */
export class OpenAiSpeech implements SpeechEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream
  readonly #styleMember: 'instructions' | 'prompt'

  /** Throws one sentence if the address or the key is invalid. */
  constructor({ styleMember = 'instructions', ...options }: OpenAiSpeechOptions) {
    this.#upstream = new OpenAiUpstream(options, '/audio/speech')
    this.#styleMember = styleMember
  }

  async speak({ request: asked, engineModel, signal }: SpeechCall): Promise<Buffer> {
    const { text: input, voice, format, speed, language, style, temperature, topP } = asked
    const request = {
      input,
      voice,
      response_format: format,
      ...(speed === 1 ? {} : { speed }),
      ...(style === undefined ? {} : { [this.#styleMember]: style }),
      // OpenAI's own server supports none of these, other servers do; the model's settings decide whether a caller may
      // send them.
      ...(language === undefined ? {} : { language }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
    }
    try {
      const body = { model: engineModel, ...request }
      return await this.#upstream.bytes({ body, request, type: audioTypes, signal }, speechBytes)
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** Servers name formats in several ways; anything that is not audio is never passed on. */
const audioTypes = /^(audio\/|application\/(ogg|octet-stream)\b)/i

const span = { start: z.number(), end: z.number() }

const Answer = z.looseObject({
  text: z.string(),
  // OpenAI has also sent it as text.
  duration: z
    .union([z.number(), z.string().transform(Number)])
    .pipe(z.number().min(0))
    .nullish()
    .catch(null),
  words: listOf(z.object({ word: z.string(), ...span })).nullish(),
  segments: listOf(z.object({ text: z.string(), ...span })).nullish(),
  // Another service with this API puts them here.
  timestamps: z
    .object({
      word: listOf(z.object({ word: z.string(), ...span })).nullish(),
      segment: listOf(z.object({ text: z.string(), ...span })).nullish(),
    })
    .nullish(),
})

type TimesMember = 'timestamp_granularities[]' | 'timestamps'

export interface OpenAiTranscriptionOptions extends UpstreamOptions {
  /** How times are requested; OpenAI's way by default. */
  timesMember?: TimesMember
}

/** Any server with OpenAI's transcription API. */
export class OpenAiTranscription implements TranscriptionEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream
  readonly #timesMember: TimesMember

  /** Throws one sentence if the address or the key is invalid. */
  constructor({ timesMember = 'timestamp_granularities[]', ...options }: OpenAiTranscriptionOptions) {
    this.#upstream = new OpenAiUpstream(options, '/audio/transcriptions')
    this.#timesMember = timesMember
  }

  async transcribe(call: TranscriptionCall): Promise<TranscribedSpeech> {
    const { language, signal } = call
    const request = { file: null, ...(language === undefined ? {} : { language }) }
    try {
      const value = await this.#upstream.json(
        { body: formOf(call, this.#timesMember), request, signal },
        transcriptBytes,
      )
      if (value?.error && typeof value.text !== 'string') throw eventError(value.error, request)
      const answer = Answer.safeParse(value).data
      if (!answer) throw new Error("The engine's answer is not a transcription.")
      const { text, duration } = answer
      return { text, seconds: duration ?? null, ...(call.timestamps ? { timestamps: timesOf(answer) } : {}) }
    } catch (error) {
      throw ofTheFile(this.#upstream.known(error, signal))
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** The file is sent under our own name, because the caller's is private. */
function formOf({ recording, language, timestamps, engineModel }: TranscriptionCall, times: TimesMember): FormData {
  const form = new FormData()
  const extension = recording.type === 'mp4' ? 'm4a' : recording.type
  form.set('file', new File([new Uint8Array(recording.bytes)], `audio.${extension}`))
  form.set('model', engineModel)
  form.set('response_format', timestamps && times !== 'timestamps' ? 'verbose_json' : 'json')
  if (language !== undefined) form.set('language', language)
  if (!timestamps) return form
  for (const each of times === 'timestamps' ? ['true'] : ['word', 'segment']) form.append(times, each)
  return form
}

function timesOf(answer: z.output<typeof Answer>): NonNullable<Transcription['timestamps']> {
  const { words = answer.timestamps?.word, segments = answer.timestamps?.segment } = answer
  return { ...(words ? { word: words } : {}), ...(segments ? { segment: segments } : {}) }
}

/** If the form has no options, a refusal is about the file, for which the contract publishes a sentence. */
function ofTheFile(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.kind !== 'INVALID_REQUEST') return error
  const { issues = [] } = error.body as { issues?: readonly { path: readonly unknown[] }[] }
  return issues.some(({ path }) => path[0] !== 'file') ? error : unreadableSpeech()
}
