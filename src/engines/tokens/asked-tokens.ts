import type { ChatCompletionRequest } from '#contract/operations/chat.ts'

/** The maximum that the caller gave, under any of the names that clients use; the smallest where there are several. */
export function askedTokens(request: ChatCompletionRequest): number | undefined {
  const { max_tokens: old, max_completion_tokens: current, maxCompletionTokens: camel } = request
  const given = [old, current, camel].filter(each => typeof each === 'number' && Number.isSafeInteger(each) && each > 0)
  return given.length ? Math.min(...given.map(Number)) : undefined
}
