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

/** Tokens of a call, by the engine's word or by our own count. */
interface CountedUsage {
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

/** What the engine says while it goes on; its last word, which comes beside no piece, cuts nothing off any more. */
export const runningTokens = (chunk: ChatCompletionChunk): number =>
  chunk.usage && isPossible(chunk.usage) && chunk.choices.length ? chunk.usage.completion_tokens : 0

const usageOf = (prompt: number, completion: number): TokenUsage => ({
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

interface Piece {
  index: number
  /** All that was generated in it. */
  text: string
  /** Whether it may have no token: the first and the last of an answer have none. */
  isSilent: boolean
}

/** What a chunk says, by choice. */
export function piecesOf(chunk: ChatCompletionChunk): Piece[] {
  if (chunk instanceof TextChunk) return [{ index: chunk.shape.index, text: chunk.text, isSilent: false }]
  return chunk.choices.map(({ index, delta, finish_reason: finish }) => ({
    ...{ index, text: generatedText(delta) },
    isSilent: Boolean(delta.role || finish),
  }))
}

/**
 * Counts what an engine has made. A stream that has ended owes its usage. One that broke off owes the prompt and what was
 * delivered until then, and nothing before the first piece of content. One whose reader left owes what its engine made,
 * from the first sign of its work.
 */
export class StreamUsage {
  readonly #plan: ChatPlan
  readonly #thinking: ThinkingTime
  /** Of each choice. */
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
  /** The engine's, where it was asked to search by itself. */
  readonly #search: OwnSearch | null

  constructor(plan: ChatPlan, clock: Clock) {
    this.#plan = plan
    this.#request = plan.request
    this.#search = plan.options.searchesX ? new OwnSearch() : null
    this.#thinking = new ThinkingTime(clock)
  }

  /** Whether any content has come. */
  get delivered(): boolean {
    return this.#delivered
  }

  /** Whether there was a piece of any choice; an answer without one is none. */
  get hasChoice(): boolean {
    return this.#hasChoice
  }

  /** What the engine has found by itself so far. */
  get ownSources(): readonly SearchResult[] {
    return this.#search?.sources ?? []
  }

  /** What the engine is really asked, and what that cost before it. */
  prepared({ request, lines }: Pick<PreparedChat, 'request' | 'lines'>): void {
    this.#request = request
    this.#besideLines = lines
    this.#thinking.begin()
  }

  /** What was found on the web is owed: it has been delivered, or the engine would not take what it was found for. */
  oweSources(): void {
    this.#owesSources = true
  }

  /** So many tokens of completion there were at least, though nobody could read them. */
  madeAtLeast(tokens: number): void {
    this.#least = tokens
  }

  /** Of an answer that comes whole nothing is seen before its end: it counts as begun once it was asked for. */
  begin(): void {
    this.#hasBegun = true
  }

  /** Its reader has left, or a limit of ours has cut it: from now on work is owed that was not delivered. */
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
      // Of a hidden thought some engines send empty pieces; the first and the last of an answer are none.
      if (text || !isSilent) this.#countOf(index).push(text)
    }
    this.#thinking.heard(pieces.length)
    if (chunk.usage) this.report(chunk.usage)
  }

  /** A later word of the engine counts for all before it. */
  report(usage: TokenUsage): void {
    if (!isPossible(usage)) return
    this.#hasBegun = true
    this.#reported = usage
    this.#contentSince = false
  }

  /** The engine has ended by itself. */
  complete(): void {
    this.#whole = true
  }

  /** Completion tokens as they would be after this chunk, by our count or, where it is more, by the engine's. */
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

  /** What is owed; with `isLeft` if it were left now. */
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

  /** What a reasoning model thought without showing it, where its reader left and its engine said nothing of its usage. */
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

/** Estimates the tokens that a silent engine may have thought, from its silences and the pace of its stream. */
class ThinkingTime {
  readonly #clock: Clock
  #beganAtMs: number | null = null
  #heardAtMs = 0
  #silentMs = 0
  #pieces = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The engine is asked. */
  begin(): void {
    this.#beganAtMs = this.#clock.now()
    this.#heardAtMs = this.#beganAtMs
  }

  /** It sent so many pieces, most of which are a token. */
  heard(pieces: number): void {
    const nowMs = this.#clock.now()
    const silentMs = nowMs - this.#heardAtMs
    if (this.#beganAtMs !== null && silentMs > thinkingAfterMs) this.#silentMs += silentMs
    this.#heardAtMs = nowMs
    this.#pieces += pieces
  }

  /** What it can have thought in its silences, the present one included. */
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

/** A reasoning model that sends nothing for longer than this is thinking, not slow. */
const thinkingAfterMs = 5_000

/** What a model thinks in a second where its stream has had fewer pieces than this: below most engines' pace. */
const assumedTokensASecond = 20
const pacedPieces = 16
