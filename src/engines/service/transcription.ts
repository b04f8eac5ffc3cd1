import { OpenAiTranscription } from '../openai/transcription.ts'
import type { UpstreamOptions } from '../openai/upstream-options.ts'

/** Another service of this contract, which has its own way to ask for times. */
export class ServiceTranscription extends OpenAiTranscription {
  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    super({ ...options, timesMember: 'timestamps' })
  }
}
