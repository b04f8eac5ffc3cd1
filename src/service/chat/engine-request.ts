import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { ChatOptions } from './chat-options.ts'

/** What the engine is asked: the caller's messages after the service's own prompt (brief §1.5), thinking off where asked. */
export function engineRequest(
  request: ChatCompletionRequest,
  options: ChatOptions,
  servicePrompt: string,
): ChatCompletionRequest {
  const { service_parameters: _own, ...forwarded } = request
  const withPrompt = options.echo.include_service_system_prompt && servicePrompt !== ''
  return {
    ...forwarded,
    model: options.model,
    messages: withPrompt ? [{ role: 'system', content: servicePrompt }, ...request.messages] : request.messages,
    ...(options.echo.disable_thinking ? { reasoning_effort: 'none' as const, reasoning: undefined } : {}),
  }
}
