import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { ChatOptions } from './chat-options.ts'

/**
 * What the engine is asked: the caller's messages after the service's own prompt (brief §1.5) and that of the character,
 * thinking off where asked, and without the tools that the service itself is.
 */
export function engineRequest(
  request: ChatCompletionRequest,
  options: ChatOptions,
  prompts: { service: string; character: string },
): ChatCompletionRequest {
  const { service_parameters: _own, tools, ...forwarded } = request
  const { echo } = options
  const instructions = [echo.include_service_system_prompt ? prompts.service : '', prompts.character].filter(Boolean)
  const ownTools = tools?.filter(({ type }) => type !== 'web_search')
  return {
    ...forwarded,
    ...(ownTools?.length ? { tools: ownTools } : {}),
    model: options.model,
    messages: [...instructions.map(content => ({ role: 'system' as const, content })), ...request.messages],
    ...(echo.disable_thinking ? { reasoning_effort: 'none' as const, reasoning: undefined } : {}),
  }
}
