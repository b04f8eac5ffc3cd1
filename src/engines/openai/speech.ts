import { type SpeechFormat, speechTypes } from '#contract/operations/audio.ts'
import { carriesAll } from '../ports/carried-choices.ts'
import type { SpeechCall, SpeechEngine } from '../ports/media-engines.ts'
import { speechBytes } from '../sound/bounds.ts'
import { OpenAiUpstream } from './upstream.ts'
import type { UpstreamOptions } from './upstream-options.ts'

export interface OpenAiSpeechOptions extends UpstreamOptions {
  /** What a word on how to speak is called there; `instructions`, as OpenAI has it, where absent. */
  styleMember?: 'instructions' | 'prompt'
}

/** Any server that speaks OpenAI's speech. */
export class OpenAiSpeech implements SpeechEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream
  readonly #styleMember: 'instructions' | 'prompt'

  /** Throws one sentence where the address or the key cannot be used. */
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
      // OpenAI's own server knows none of these, others do; a model says whether a caller may send them.
      ...(language === undefined ? {} : { language }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
    }
    try {
      const body = { model: engineModel, ...request }
      return await this.#upstream.bytes({ body, request, type: typeOf(format), signal }, speechBytes)
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** Servers name formats in several ways; what is no sound is never handed on. */
const typeOf = (format: SpeechFormat): RegExp =>
  format === 'opus'
    ? /^(audio|application)\//i
    : new RegExp(`^(${speechTypes[format]}|audio/|application/octet-stream)`, 'i')
