import { FormData } from 'undici'
import { z } from 'zod'
import { unreadableSpeech } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { Transcription } from '#contract/operations/audio.ts'
import { transcriptBytes } from '../bounds.ts'
import { carriesAll } from '../ports/carried-choices.ts'
import type { TranscribedSpeech, TranscriptionCall, TranscriptionEngine } from '../ports/media-engines.ts'
import { OpenAiUpstream } from './upstream.ts'
import { eventError } from './upstream-error.ts'
import type { UpstreamOptions } from './upstream-options.ts'

const span = { start: z.number(), end: z.number() }

const Answer = z.looseObject({
  text: z.string(),
  // OpenAI has sent it as a text too.
  duration: z
    .union([z.number(), z.string().transform(Number)])
    .pipe(z.number().min(0))
    .nullish()
    .catch(null),
  words: z.array(z.object({ word: z.string(), ...span })).nullish(),
  segments: z.array(z.object({ text: z.string(), ...span })).nullish(),
  // Where another service of this contract has them.
  timestamps: z
    .object({
      word: z.array(z.object({ word: z.string(), ...span })).nullish(),
      segment: z.array(z.object({ text: z.string(), ...span })).nullish(),
    })
    .nullish(),
})

type TimesMember = 'timestamp_granularities[]' | 'timestamps'

export interface OpenAiTranscriptionOptions extends UpstreamOptions {
  /** How times are asked for; as OpenAI has it where absent. */
  timesMember?: TimesMember
}

/** Any server that speaks OpenAI's transcriptions. */
export class OpenAiTranscription implements TranscriptionEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream
  readonly #timesMember: TimesMember

  /** Throws one sentence where the address or the key cannot be used. */
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
      if (!answer) throw new Error('The engine answered no transcription.')
      const { text, duration } = answer
      return { text, seconds: duration ?? null, ...(call.timestamps ? { timestamps: timesOf(answer) } : {}) }
    } catch (error) {
      throw ofTheFile(this.#upstream.known(error, signal))
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** A file goes by a name of ours: that of the caller is nobody's business. */
function formOf({ recording, language, timestamps, engineModel }: TranscriptionCall, times: TimesMember): FormData {
  const form = new FormData()
  const extension = recording.type === 'mp4' ? 'm4a' : recording.type
  form.set('file', new File([new Uint8Array(recording.bytes)], `sound.${extension}`))
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

/** Of a form without a wish, what a server refuses is the file; the published contract has a sentence for it. */
function ofTheFile(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.kind !== 'INVALID_REQUEST') return error
  const { issues = [] } = error.body as { issues?: readonly { path: readonly unknown[] }[] }
  return issues.some(({ path }) => path[0] !== 'file') ? error : unreadableSpeech()
}
