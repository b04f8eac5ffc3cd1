import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  TokenUsage,
} from '#contract/operations/chat.ts'
import { countGenerated, countPromptTokens } from '#engines/tokens/count-tokens.ts'
import type { Line } from '#ledger/store/units.ts'
import { reportedTokens } from '../../models/bounds.ts'
import type { ChatPlan } from './chat-plan.ts'
import { chatLines } from './price-chat.ts'

/** Tokens of a call, by the engine's word or by our own count. */
export interface CountedUsage {
  usage: TokenUsage
  counted: 'reported' | 'estimated'
}

/** What the engine reported; counted here where it reported nothing, or nothing that can be. */
export function usageOfCompletion(request: ChatCompletionRequest, completion: ChatCompletion): CountedUsage {
  const text = completion.choices.map(choice => generatedText(choice.message)).join('\n')
  return believed(completion.usage, {
    hasText: completion.choices.some(choice => generatedText(choice.message)),
    prompt: () => countPromptTokens(request),
    completion: () => countGenerated(text),
  })
}

/** The same, as it is counted here. */
interface Counted {
  hasText: boolean
  prompt: () => number
  completion: () => number
}

/** The engine's word, and our own count of whatever it did not count: no prompt is empty, and no text is without tokens. */
export function believed(usage: TokenUsage | undefined, { hasText, prompt, completion }: Counted): CountedUsage {
  if (!usage || !isPossible(usage)) return { usage: usageOf(prompt(), completion()), counted: 'estimated' }
  const hasPrompt = usage.prompt_tokens > 0
  const hasCompletion = usage.completion_tokens > 0 || !hasText
  if (hasPrompt && hasCompletion) return { usage, counted: 'reported' }
  const counted = usageOf(
    hasPrompt ? usage.prompt_tokens : prompt(),
    hasCompletion ? usage.completion_tokens : completion(),
  )
  return { usage: counted, counted: 'estimated' }
}

export const isPossible = (usage: TokenUsage): boolean =>
  usage.prompt_tokens <= reportedTokens && usage.completion_tokens <= reportedTokens

/** What the engine says while it goes on; its last word, which comes beside no piece, cuts nothing off any more. */
export const runningTokens = ({ choices, usage }: ChatCompletionChunk): number =>
  choices.length && usage && isPossible(usage) ? usage.completion_tokens : 0

export const usageOf = (prompt: number, completion: number): TokenUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})

/** What that comes to. It may be more than the hold: then the rest is the service's loss, and booked as such. */
export const usageLines = ({ model }: ChatPlan, { usage, counted }: CountedUsage): Line[] =>
  chatLines(model, usage, counted)

/** A message or a piece of one, with whatever else its engine put beside the members that we know. */
type Generated = { content?: unknown; tool_calls?: unknown; [member: string]: unknown }

/** Names under which engines send the same reasoning, some of them under two at once. */
const reasoningMembers = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

/** Not generated: what says whose words follow, and what is told about them. */
const silentMembers: ReadonlySet<string> = new Set(['role', 'annotations', 'logprobs', ...reasoningMembers])

/** All of a message that was generated, under whatever name, because all of it reaches the caller. */
export function generatedText(message: Generated): string {
  const reasoning = reasoningMembers.map(name => written(message[name])).reduce(longer)
  const others = Object.entries(message).filter(([name]) => !silentMembers.has(name))
  return reasoning + others.map(([, value]) => written(value)).join('')
}

const longer = (one: string, other: string): string => (other.length > one.length ? other : one)

function written(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return ''
  return JSON.stringify(value)
}
