import { defaultVendor, toVendor } from '#contract/vendor.ts'
import { OpenAiChat, type OpenAiChatOptions } from '../openai/chat.ts'

export interface ServiceChatOptions extends Omit<OpenAiChatOptions, 'members' | 'withoutThinking' | 'lengthMember'> {
  /** The word in the other service's headers and members. */
  vendor?: string
}

/** Another service of this contract. Prompts, searches and characters are ours to add, so it is told to add none of its own. */
export class ServiceChat extends OpenAiChat {
  /** Throws one sentence where the address or the key cannot be used. */
  constructor({ vendor = defaultVendor, ...options }: ServiceChatOptions) {
    const told = (more: object) =>
      toVendor({ service_parameters: { include_service_system_prompt: false, ...more } }, vendor) as Record<
        string,
        unknown
      >
    super({
      ...options,
      lengthMember: 'max_completion_tokens',
      members: told({}),
      withoutThinking: told({ disable_thinking: true }),
    })
  }
}
