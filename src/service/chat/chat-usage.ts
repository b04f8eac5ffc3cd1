import type { ChatCompletion, ChatCompletionRequest } from '#contract/chat.ts'
import type { TokenUsage } from '#contract/chat-completion.ts'
import { reportedTokens } from '../pricing/bounds.ts'
import { chatLines } from '../pricing/price-chat.ts'
import type { Line } from '../store/units.ts'
import { countPromptTokens, countTokens } from '../tokens/count-tokens.ts'
import type { ChatPlan } from './chat-plan.ts'
import { generatedText } from './generated-text.ts'

/** Tokens of a call, by the engine's word or by our own count. */
export interface CountedUsage {
  usage: TokenUsage
  counted: 'reported' | 'estimated'
}

/** What the engine reported; counted here where it reported nothing, or nothing that can be. */
export function usageOfCompletion(request: ChatCompletionRequest, completion: ChatCompletion): CountedUsage {
  const { usage } = completion
  if (usage && isBelievable(usage)) return { usage, counted: 'reported' }
  const text = completion.choices.map(choice => generatedText(choice.message)).join('\n')
  return { usage: usageOf(countPromptTokens(request), countTokens(text)), counted: 'estimated' }
}

export const isBelievable = (usage: TokenUsage): boolean =>
  usage.prompt_tokens <= reportedTokens && usage.completion_tokens <= reportedTokens

export const usageOf = (prompt: number, completion: number): TokenUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})

/** What that comes to. It may be more than the hold: then the rest is the service's loss, and booked as such. */
export const usageLines = ({ model }: ChatPlan, { usage, counted }: CountedUsage): Line[] =>
  chatLines(model, usage, counted)
