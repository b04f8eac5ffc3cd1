import { defaultVendor, fromVendor, toVendor } from '#contract/wire/vendor.ts'
import { OpenAiChat, type OpenAiChatOptions } from '../openai/chat.ts'

export interface ServiceChatOptions
  extends Omit<OpenAiChatOptions, 'optionMembers' | 'xSearch' | 'searchedAnswer' | 'withoutThinking' | 'lengthMember'> {
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
      optionMembers: ({ isThinkingOff, searchesX }) =>
        told({ ...(isThinkingOff ? { disable_thinking: true } : {}), ...(searchesX ? { enable_x_search: true } : {}) }),
      xSearch: {},
      searchedAnswer: answer => withCitations(answer, fromVendor(answer, vendor)),
    })
  }
}

/** A service of this contract names its sources in the echo of its options, which is not ours to pass on. */
function withCitations(answer: Record<string, unknown>, named: unknown): Record<string, unknown> {
  const { service_parameters: echo } = named as { service_parameters?: { web_search_citations?: unknown } | null }
  const citations = echo?.web_search_citations
  return Array.isArray(citations) ? { ...answer, citations } : answer
}
