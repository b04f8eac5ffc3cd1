import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  TokenUsage,
} from '#contract/operations/chat.ts'
import type { Clock } from '#contract/time.ts'
import type { SearchResult } from '#engines/ports/engine.ts'
import { TextChunk } from '#engines/ports/text-chunk.ts'
import { countGenerated, countPromptTokens, RunningCount } from '#engines/tokens/count-tokens.ts'
import { oneCharge } from '#ledger/charges/charges.ts'
import type { Line } from '#ledger/store/units.ts'
import { reportedTokens } from '../../models/model.ts'
import type { ChatPlan } from './chat-plan.ts'
import type { PreparedChat } from './chat-web.ts'
import { chatLines } from './price-chat.ts'
import { OwnSearch } from './shown-answer.ts'

/** Tokens of a call, reported by the engine or counted by us. */
interface CountedUsage {
  usage: TokenUsage
  counted: 'reported' | 'estimated'
}

/** Returns what the engine reported; if it reported nothing, or something impossible, counts here. */
export async function usageOfCompletion(
  request: ChatCompletionRequest,
  { choices, usage }: ChatCompletion,
): Promise<CountedUsage> {
  const texts = choices.map(({ message }) => generatedText(message))
  const hasText = texts.some(Boolean)
  const isCounted = hasText && !(usage && isPossible(usage) && usage.completion_tokens > 0)
  const completion = isCounted ? await countGenerated(texts.join('\n')) : 0
  return believed(usage, { hasText, prompt: () => countPromptTokens(request), completion: () => completion })
}

/** Our own count. */
interface Counted {
  hasText: boolean
  prompt: () => number
  completion: () => number
}

/**
 * Returns the engine's usage, with our own count for missing numbers and for zeros that cannot be right: no prompt is
 * empty, and a text has at least one token.
 */
function believed(usage: TokenUsage | undefined, { hasText, prompt, completion }: Counted): CountedUsage {
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

const isPossible = (usage: TokenUsage): boolean =>
  usage.prompt_tokens <= reportedTokens && usage.completion_tokens <= reportedTokens

/**
 * Returns the tokens that count towards the limit of a minute (brief §8.4). The engine's own total may contain others,
 * or be zero.
 */
export const limitedTokens = ({ prompt_tokens: prompt, completion_tokens: completion }: TokenUsage): number =>
  prompt + completion

/** Running usage of the engine; its last usage, which comes without a piece, no longer cuts anything off. */
export const runningTokens = (chunk: ChatCompletionChunk): number =>
  chunk.usage && isPossible(chunk.usage) && chunk.choices.length ? chunk.usage.completion_tokens : 0

const usageOf = (prompt: number, completion: number): TokenUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})

/** Prices the usage. If it exceeds the hold, the rest is booked as the service's loss. */
export const usageLines = ({ model }: ChatPlan, { usage, counted }: CountedUsage): Line[] =>
  chatLines(model, usage, counted)

/** A message or a piece of one, with any other members that its engine sent. */
type Generated = { content?: unknown; tool_calls?: unknown; [member: string]: unknown }

/** Names under which engines send the same reasoning, some of them under two at once. */
const reasoningMembers = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

/** Members that are not generated text: roles, and information about the text. */
const silentMembers: ReadonlySet<string> = new Set(['role', 'annotations', 'logprobs', ...reasoningMembers])

/** Returns everything that was generated in a message, under any name, because all of it reaches the caller. */
function generatedText(message: Generated): string {
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

interface Piece {
  index: number
  /** All text generated in it. */
  text: string
  /** Whether it may have no token, like the first and last chunk of an answer. */
  isSilent: boolean
}

/** Returns the content of a chunk, by choice. */
export function piecesOf(chunk: ChatCompletionChunk): Piece[] {
  if (chunk instanceof TextChunk) return [{ index: chunk.shape.index, text: chunk.text, isSilent: false }]
  return chunk.choices.map(({ index, delta, finish_reason: finish }) => ({
    ...{ index, text: generatedText(delta) },
    isSilent: Boolean(delta.role || finish),
  }))
}

/**
 * Counts what an engine generated. A stream that ended costs its usage. A stream that broke off costs the prompt and
 * what was delivered, and nothing before the first piece of content. If its reader left, a stream costs what its engine
 * generated, from the first sign of work.
 */
export class StreamUsage {
  readonly #plan: ChatPlan
  readonly #thinking: ThinkingTime
  /** One per choice. */
  readonly #counts = new Map<number, RunningCount>()
  #prompt: number | null = null
  #reported: TokenUsage | null = null
  #contentSince = false
  #delivered = false
  #hasBegun = false
  #hasChoice = false
  #least = 0
  #isLeft = false
  #whole = false
  #request: ChatCompletionRequest
  #besideLines: readonly Line[] = []
  #owesSources = false
  /** Results of the engine's own search, if it was asked to search. */
  readonly #search: OwnSearch | null

  constructor(plan: ChatPlan, clock: Clock) {
    this.#plan = plan
    this.#request = plan.request
    this.#search = plan.options.searchesX ? new OwnSearch() : null
    this.#thinking = new ThinkingTime(clock)
  }

  /** Whether any content has arrived. */
  get delivered(): boolean {
    return this.#delivered
  }

  /** Whether any choice had a piece; an answer without one is invalid. */
  get hasChoice(): boolean {
    return this.#hasChoice
  }

  /** The search results that the engine has reported so far. */
  get ownSources(): readonly SearchResult[] {
    return this.#search?.sources ?? []
  }

  /** Records the actual request for the engine, and what preparing it cost. */
  prepared({ request, lines }: Pick<PreparedChat, 'request' | 'lines'>): void {
    this.#request = request
    this.#besideLines = lines
    this.#thinking.begin()
  }

  /** Search results are charged: they were delivered, or the engine refused the content for which they were found. */
  oweSources(): void {
    this.#owesSources = true
  }

  /** Records a minimum of completion tokens, although their text could not be read. */
  madeAtLeast(tokens: number): void {
    this.#least = tokens
  }

  /** A whole answer shows nothing before its end, so it counts as begun when it was requested. */
  begin(): void {
    this.#hasBegun = true
  }

  /** The reader has left, or one of our limits cut the answer off: from now on, undelivered work is charged too. */
  leave(): void {
    this.#isLeft = true
  }

  read(chunk: ChatCompletionChunk): void {
    this.#search?.read(chunk)
    this.#hasBegun = true
    const pieces = piecesOf(chunk)
    this.#hasChoice ||= pieces.length > 0
    for (const { index, text, isSilent } of pieces) {
      if (text) {
        this.#delivered = true
        this.#contentSince = true
      }
      // For hidden thinking some engines send empty pieces; the first and last piece of an answer are also empty, but
      // not thinking.
      if (text || !isSilent) this.#countOf(index).push(text)
    }
    this.#thinking.heard(pieces.length)
    if (chunk.usage) this.report(chunk.usage)
  }

  /** A later report of the engine replaces earlier ones. */
  report(usage: TokenUsage): void {
    if (!isPossible(usage)) return
    this.#hasBegun = true
    this.#reported = usage
    this.#contentSince = false
  }

  /** The engine has ended normally. */
  complete(): void {
    this.#whole = true
  }

  /** Returns the completion tokens after this chunk, by our count or, if larger, the engine's. */
  tokensWith(chunk: ChatCompletionChunk): number {
    const texts = new Map(piecesOf(chunk).map(({ index, text }) => [index, text]))
    let tokens = 0
    for (const index of new Set([...this.#counts.keys(), ...texts.keys()])) {
      const count = this.#counts.get(index) ?? new RunningCount()
      const text = texts.get(index)
      tokens += text ? count.wholeWith(text) : count.whole
    }
    return Math.max(tokens, this.#reported?.completion_tokens ?? 0, runningTokens(chunk))
  }

  usage(): TokenUsage {
    return this.#usage(this.#isLeft).usage
  }

  /** Returns the cost so far; with `isLeft`, the cost if the reader left now. */
  lines(isLeft = this.#isLeft): Line[] {
    const isNone = this.#whole && !this.#hasChoice
    const owes = this.#delivered || (this.#whole && this.#reported !== null) || (isLeft && this.#hasBegun)
    if (owes && !isNone)
      return oneCharge([
        ...usageLines(this.#plan, this.#usage(isLeft)),
        ...this.#besideLines,
        ...(this.#search?.lines() ?? []),
      ])
    return this.#owesSources || isLeft ? oneCharge(this.#besideLines) : []
  }

  #usage(isLeft: boolean): CountedUsage {
    const reported = this.#reported
    const prompt = () => (this.#prompt ??= countPromptTokens(this.#request))
    if (reported && (this.#whole || !this.#contentSince))
      return believed(reported, { hasText: this.#delivered, prompt, completion: () => this.#tokens() })
    const counted = this.#tokens() + (reported || this.#whole || !isLeft ? 0 : this.#thought())
    const completion = Math.max(counted, this.#least, reported?.completion_tokens ?? 0)
    return { usage: usageOf(reported?.prompt_tokens || prompt(), completion), counted: 'estimated' }
  }

  /** Estimates hidden thinking of a reasoning model whose reader left and whose engine reported no usage. */
  #thought(): number {
    const { model, maxCompletionTokens } = this.#plan
    if (!model.capabilities.supportsReasoning) return 0
    return Math.max(0, Math.min(this.#thinking.tokens, maxCompletionTokens - this.#tokens()))
  }

  #tokens(): number {
    let tokens = 0
    for (const count of this.#counts.values()) tokens += this.#whole ? count.whole : count.soFar
    return tokens
  }

  #countOf(index: number): RunningCount {
    const known = this.#counts.get(index) ?? new RunningCount()
    this.#counts.set(index, known)
    return known
  }
}

/** Estimates hidden thinking tokens from an engine's silences and the pace of its stream. */
class ThinkingTime {
  readonly #clock: Clock
  #beganAtMs: number | null = null
  #heardAtMs = 0
  #silentMs = 0
  #pieces = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The engine was called. */
  begin(): void {
    this.#beganAtMs = this.#clock.now()
    this.#heardAtMs = this.#beganAtMs
  }

  /** Records this many pieces, most of which are one token. */
  heard(pieces: number): void {
    const nowMs = this.#clock.now()
    const silentMs = nowMs - this.#heardAtMs
    if (this.#beganAtMs !== null && silentMs > thinkingAfterMs) this.#silentMs += silentMs
    this.#heardAtMs = nowMs
    this.#pieces += pieces
  }

  /** Returns the tokens that fit into its silences, including the current one. */
  get tokens(): number {
    if (this.#beganAtMs === null) return 0
    const nowMs = this.#clock.now()
    const silentNowMs = nowMs - this.#heardAtMs
    const silentMs = this.#silentMs + (silentNowMs > thinkingAfterMs ? silentNowMs : 0)
    const speakingMs = nowMs - this.#beganAtMs - silentMs
    const isPaced = this.#pieces >= pacedPieces && speakingMs > 0
    const aSecond = isPaced ? (this.#pieces * 1_000) / speakingMs : assumedTokensASecond
    return Math.floor((silentMs * aSecond) / 1_000)
  }
}

/** A reasoning model that is silent for longer than this is thinking, not slow. */
const thinkingAfterMs = 5_000

/** Assumed thinking speed if the stream had too few pieces to measure it: below most engines' pace. */
const assumedTokensASecond = 20
const pacedPieces = 16
