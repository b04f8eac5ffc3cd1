import { FormData } from 'undici'
import { voiceAnswerBytes } from '../bounds.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import { OpenAiSpeech, OpenAiTranscription } from '../openai/audio.ts'
import type { VoiceCall } from '../ports/media-engines.ts'

/** Another service of this contract, which has its own word for how to speak, and makes voices of recordings. */
export class ServiceSpeech extends OpenAiSpeech {
  readonly #voices: OpenAiUpstream

  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    super({ ...options, styleMember: 'prompt' })
    this.#voices = new OpenAiUpstream(options, '/audio/voices')
  }

  /** The voice's id there, which that service keeps for seven days. */
  async cloneVoice({ sample, engineModel, signal }: VoiceCall): Promise<string> {
    const form = new FormData()
    form.set('model', engineModel)
    form.set('file', new File([new Uint8Array(sample.bytes)], `voice.${sample.type}`, { type: `audio/${sample.type}` }))
    try {
      const answer = await this.#voices.json({ body: form, request: {}, signal }, voiceAnswerBytes)
      if (typeof answer?.id !== 'string' || answer.id === '') throw new Error('The service made a voice without an id.')
      return answer.id
    } catch (error) {
      throw this.#voices.known(error, signal)
    }
  }

  /** Ends all connections. */
  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#voices.close()])
  }
}

/** Another service of this contract, which has its own way to ask for times. */
export class ServiceTranscription extends OpenAiTranscription {
  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    super({ ...options, timesMember: 'timestamps' })
  }
}
