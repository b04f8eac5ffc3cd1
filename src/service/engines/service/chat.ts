import { defaultVendor, toVendor } from '#contract/vendor.ts'
import { OpenAiChat, type OpenAiChatOptions } from '../openai/chat.ts'

export interface ServiceChatOptions extends Omit<OpenAiChatOptions, 'members' | 'lengthMember'> {
  /** The word in the other service's headers and members. */
  vendor?: string
}

/** Another service of this contract. Prompts, searches and characters are ours to add, so it is told to add none of its own. */
export class ServiceChat extends OpenAiChat {
  /** Throws one sentence where the address or the key cannot be used. */
  constructor({ vendor = defaultVendor, ...options }: ServiceChatOptions) {
    const silent = { service_parameters: { include_service_system_prompt: false } }
    super({
      ...options,
      lengthMember: 'max_completion_tokens',
      members: toVendor(silent, vendor) as Record<string, unknown>,
    })
  }
}
