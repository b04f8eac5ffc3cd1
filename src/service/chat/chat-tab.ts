import type { ChatCompletionChunk, ChatCompletionRequest } from '#contract/chat.ts'
import type { TokenUsage } from '#contract/chat-completion.ts'
import { oneCharge } from '../pricing/one-charge.ts'
import type { Line } from '../store/units.ts'
import { countPromptTokens } from '../tokens/count-tokens.ts'
import { RunningCount } from '../tokens/running-count.ts'
import type { ChatPlan } from './chat-plan.ts'
import { type CountedUsage, isBelievable, usageLines, usageOf } from './chat-usage.ts'
import { generatedText } from './generated-text.ts'
import type { PreparedChat } from './prepare-chat.ts'

/**
 * Counts what an engine has delivered. A stream that has ended owes its usage. One that was cut owes the prompt and what
 * was delivered until then, and nothing before the first piece of content.
 */
export class ChatTab {
  readonly #plan: ChatPlan
  /** Of each choice. */
  readonly #counts = new Map<number, RunningCount>()
  #prompt: number | null = null
  #reported: TokenUsage | null = null
  #contentSince = false
  #delivered = false
  #whole = false
  #request: ChatCompletionRequest
  #besideLines: readonly Line[] = []
  #hasShown = false

  constructor(plan: ChatPlan) {
    this.#plan = plan
    this.#request = plan.request
  }

  /** Whether any content has come. */
  get delivered(): boolean {
    return this.#delivered
  }

  /** What the engine is really asked, and what that cost before it. */
  prepared({ request, lines }: Pick<PreparedChat, 'request' | 'lines'>): void {
    this.#request = request
    this.#besideLines = lines
  }

  /** What was found on the web has been delivered. */
  showSources(): void {
    this.#hasShown = true
  }

  read(chunk: ChatCompletionChunk): void {
    for (const { index, delta } of chunk.choices) {
      const text = generatedText(delta)
      if (!text) continue
      this.#delivered = true
      this.#contentSince = true
      this.#countOf(index).push(text)
    }
    if (chunk.usage) this.report(chunk.usage)
  }

  /** A later word of the engine counts for all before it. */
  report(usage: TokenUsage): void {
    if (!isBelievable(usage)) return
    this.#reported = usage
    this.#contentSince = false
  }

  /** The engine has ended by itself. */
  complete(): void {
    this.#whole = true
  }

  /** Completion tokens as they would be after this chunk, by our count or, where it is more, by the engine's. */
  tokensWith(chunk: ChatCompletionChunk): number {
    const texts = new Map(chunk.choices.map(({ index, delta }) => [index, generatedText(delta)]))
    let tokens = 0
    for (const index of new Set([...this.#counts.keys(), ...texts.keys()])) {
      tokens += (this.#counts.get(index) ?? new RunningCount()).wholeWith(texts.get(index) ?? '')
    }
    return Math.max(tokens, this.#reported?.completion_tokens ?? 0)
  }

  usage(): TokenUsage {
    return this.#usage().usage
  }

  lines(): Line[] {
    const owes = this.#delivered || (this.#whole && this.#reported !== null)
    if (owes) return oneCharge([...usageLines(this.#plan, this.#usage()), ...this.#besideLines])
    return this.#hasShown ? oneCharge(this.#besideLines) : []
  }

  #usage(): CountedUsage {
    const reported = this.#reported
    if (reported && (this.#whole || !this.#contentSince)) return { usage: reported, counted: 'reported' }
    this.#prompt ??= countPromptTokens(this.#request)
    const prompt = reported?.prompt_tokens ?? this.#prompt
    const completion = Math.max(this.#tokens(), reported?.completion_tokens ?? 0)
    return { usage: usageOf(prompt, completion), counted: 'estimated' }
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
