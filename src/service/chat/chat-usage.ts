import type { ChatCompletion, ChatCompletionRequest } from '#contract/chat.ts'
import type { TokenUsage } from '#contract/chat-completion.ts'
import { addUsd } from '#contract/money.ts'
import { countPromptTokens, countTokens } from '../pricing/count-tokens.ts'
import { chatLines } from '../pricing/price-chat.ts'
import type { Line } from '../store/units.ts'
import type { ChatPlan } from './chat-plan.ts'

/** What the engine reported; counted here where it reported nothing. */
export function usageOfCompletion(request: ChatCompletionRequest, completion: ChatCompletion): TokenUsage {
  if (completion.usage) return completion.usage
  const text = completion.choices.map(choice => textOf(choice.message)).join('\n')
  return countedUsage(request, text)
}

function textOf(message: ChatCompletion['choices'][number]['message']): string {
  const content = typeof message.content === 'string' ? message.content : JSON.stringify(message.content ?? '')
  return `${message.reasoning_content ?? ''}${content}${message.tool_calls?.length ? JSON.stringify(message.tool_calls) : ''}`
}

export function countedUsage(request: ChatCompletionRequest, delivered: string): TokenUsage {
  const prompt = countPromptTokens(request)
  const completion = countTokens(delivered)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/**
 * The lines of a charge, never above the hold: an engine that reports more than it was allowed is our loss,
 * so completion tokens, then prompt tokens, are billed only as far as the hold reaches.
 */
export function billedLines(plan: ChatPlan, usage: TokenUsage): Line[] {
  const lines = chatLines(plan.model, usage)
  const { hold } = plan.order
  if (addUsd(...lines.map(line => line.amount)) <= hold) return lines
  const promptTokens = largestWithin(
    usage.prompt_tokens,
    tokens => costs(plan, { ...usage, prompt_tokens: tokens, completion_tokens: 0 }) <= hold,
  )
  const completionTokens = largestWithin(
    usage.completion_tokens,
    tokens => costs(plan, { ...usage, prompt_tokens: promptTokens, completion_tokens: tokens }) <= hold,
  )
  return chatLines(plan.model, { ...usage, prompt_tokens: promptTokens, completion_tokens: completionTokens })
}

const costs = (plan: ChatPlan, usage: TokenUsage): bigint =>
  addUsd(...chatLines(plan.model, usage).map(line => line.amount))

/** The largest count up to `most` for which the rising cost still fits. */
function largestWithin(most: number, fits: (count: number) => boolean): number {
  let low = 0
  let high = most
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}
