import { OpenAiSpeech } from '../openai/speech.ts'
import type { UpstreamOptions } from '../openai/upstream-options.ts'

/** Another service of this contract, which has its own word for how to speak. */
export class ServiceSpeech extends OpenAiSpeech {
  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    super({ ...options, styleMember: 'prompt' })
  }
}
