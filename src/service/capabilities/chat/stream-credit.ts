import { microUsd } from '#contract/money.ts'
import type { ChatCompletionChunk } from '#contract/operations/chat.ts'
import { TextChunk } from '#engines/ports/text-chunk.ts'
import { checkpointTokens } from '#ledger/bounds.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import type { Refusal } from '#ledger/store/store.ts'
import { asideOf, type ChatPlan } from './chat-plan.ts'
import { piecesOf, runningTokens, type StreamUsage } from './chat-usage.ts'
import { tokensFor } from './price-chat.ts'

/** Minimum bytes between two counts for a checkpoint; otherwise each piece near the threshold would trigger one. */
const leastBytesBetweenCounts = 64

/** Keeps a stream's hold ahead of what the engine delivers, and writes checkpoints from time to time. */
export class StreamCredit {
  readonly #plan: ChatPlan
  readonly #charge: Charge
  readonly #streamUsage: StreamUsage
  /** Completion tokens that the hold covers. */
  #covered = 0
  /** The last token count, and the most that may have arrived since: one per byte or empty piece. */
  #known = 0
  #mostSince = 0
  #written = 0
  #nextCount = 0
  #refusedAt: number | null = null
  #refusal: Refusal | null = null

  constructor(plan: ChatPlan, charge: Charge, streamUsage: StreamUsage) {
    this.#plan = plan
    this.#charge = charge
    this.#streamUsage = streamUsage
    this.#cover()
    this.#nextCount = this.#nextCountAt()
  }

  /** Why the hold did not grow any further; null if the engine exceeded its limit. */
  get refusal(): Refusal | null {
    return this.#refusal
  }

  /** Whether the credit covers this chunk without counting, as it does for most chunks. */
  coversAtOnce(chunk: ChatCompletionChunk): boolean {
    const most = chunk instanceof TextChunk ? mostTokens(chunk.text) : sumOfMost(chunk)
    if (Math.max(runningTokens(chunk), this.#known + this.#mostSince + most) >= this.#nextCount) return false
    this.#mostSince += most
    return true
  }

  /** Checks with counting. Extends the hold if needed, unless the chunk is unread. */
  async covers(chunk: ChatCompletionChunk, isRead: boolean): Promise<boolean> {
    if (this.coversAtOnce(chunk)) return true
    this.#known = this.#streamUsage.tokensWith(chunk)
    this.#mostSince = 0
    if (this.#known - this.#written >= checkpointTokens) {
      this.#written = this.#known
      void this.#charge.checkpoint()
    }
    if (isRead) await this.#extend()
    this.#nextCount = this.#nextCountAt()
    return this.#known <= this.#limit()
  }

  /** Counting takes time, so it waits until something could depend on it. */
  #nextCountAt(): number {
    const grow = this.#mayGrow() ? this.#covered * extendFromShare : Number.POSITIVE_INFINITY
    const checkpoint = Math.max(this.#written + checkpointTokens, this.#known + leastBytesBetweenCounts)
    return Math.min(checkpoint, this.#limit(), grow)
  }

  #mayGrow(): boolean {
    return this.#charge.restMicroUsd > 0n && this.#refusedAt === null
  }

  /** An engine that keeps to its limit is never cut off, although its tokens differ slightly from ours. */
  #limit(): number {
    if (this.#charge.restMicroUsd > 0n) return this.#covered
    return overrunFactor * this.#plan.maxCompletionTokens + checkpointTokens
  }

  /** Extends the hold before it is used up; a refused step is tried once more when nothing is left. */
  async #extend(): Promise<void> {
    while (this.#charge.restMicroUsd > 0n) {
      if (this.#known < this.#covered * extendFromShare) return
      if (this.#refusedAt !== null && this.#known <= this.#covered) return
      this.#refusal = await this.#charge.extend(this.#plan.order.amount)
      if (this.#refusal !== null) {
        this.#refusedAt = this.#known
        return
      }
      this.#refusedAt = null
      this.#cover()
    }
  }

  #cover(): void {
    const { model, maxPromptTokens } = this.#plan
    // The amount reserved for the web buys no tokens.
    const held = microUsd(this.#charge.heldMicroUsd - asideOf(this.#plan))
    this.#covered = tokensFor(model.price, maxPromptTokens, held)
  }
}

/** No tokenizer makes more tokens than bytes, and an empty piece may be one. */
const mostTokens = (text: string): number => Math.max(1, Buffer.byteLength(text))

const sumOfMost = (chunk: ChatCompletionChunk): number =>
  piecesOf(chunk).reduce((sum, { text }) => sum + mostTokens(text), 0)

/** A hold is extended once this fraction of its tokens is used, so that a stream does not wait for credit. */
const extendFromShare = 0.75

/** An engine that exceeds its limit by this factor is cut off: tokenizers differ, but not by this much. */
const overrunFactor = 2
