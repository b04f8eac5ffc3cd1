import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { requestFor } from '#engines/ports/published-members.ts'
import { askedTokens } from '#engines/tokens/asked-tokens.ts'
import type { TextModel } from '../../models/model.ts'
import type { ChatOptions } from './chat-options.ts'

interface Asked {
  model: TextModel
  options: ChatOptions
  prompts: { service: string; character: string }
}

/**
 * What the engine is asked: the members that it may be told, the caller's messages after the service's own prompt (brief
 * §1.5) and that of the character, thinking off where asked, and without the tools that the service itself is.
 */
export function engineRequest(
  request: ChatCompletionRequest,
  { model, options: { echo }, prompts }: Asked,
): ChatCompletionRequest {
  const { service_parameters: _own, tools, ...forwarded } = requestFor(model.engine, request)
  const instructions = [echo.include_service_system_prompt ? prompts.service : '', prompts.character].filter(Boolean)
  const ownTools = tools?.filter(({ type }) => type !== 'web_search' && type !== 'x_search')
  // Some clients write the limit in a way that only this service knows.
  const limit = askedTokens(request)
  return {
    ...forwarded,
    ...(ownTools?.length ? { tools: ownTools } : {}),
    ...(limit === undefined || limit === askedTokens(forwarded) ? {} : { max_completion_tokens: limit }),
    model: model.id,
    messages: [...instructions.map(content => ({ role: 'system' as const, content })), ...forwarded.messages],
    ...(echo.disable_thinking ? { reasoning: undefined, reasoning_effort: effortOfNone(model) } : {}),
  }
}

/** The value that turns thinking off, for a model whose record has it; others would refuse it. */
export const effortOfNone = ({ capabilities }: TextModel): 'none' | undefined => {
  const { supportsReasoningEffort, reasoningEffortOptions } = capabilities
  return supportsReasoningEffort && (reasoningEffortOptions?.includes('none') ?? true) ? 'none' : undefined
}
