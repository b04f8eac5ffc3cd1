import { microUsd } from '#contract/money.ts'
import type { ChatCompletionChunk } from '#contract/operations/chat.ts'
import { checkpointTokens } from '#ledger/bounds.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import type { Refusal } from '#ledger/store/store.ts'
import { asideOf, type ChatPlan } from './chat-plan.ts'
import { piecesOf, runningTokens, type StreamUsage } from './chat-usage.ts'
import { tokensFor } from './price-chat.ts'

/** Bytes between two counts for a checkpoint: near its due each piece would bring one about. */
const leastBetweenLooks = 64

/** Keeps the hold of a stream ahead of what the engine delivers, and has it written down from time to time. */
export class StreamCredit {
  readonly #plan: ChatPlan
  readonly #charge: Charge
  readonly #streamUsage: StreamUsage
  /** Completion tokens that the hold covers. */
  #covered = 0
  /** Tokens when they were last counted, and the most that may have come since: one for each byte, or for an empty piece. */
  #known = 0
  #mostSince = 0
  #written = 0
  #nextLook = 0
  #refusedAt: number | null = null
  #refusal: Refusal | null = null

  constructor(plan: ChatPlan, charge: Charge, streamUsage: StreamUsage) {
    this.#plan = plan
    this.#charge = charge
    this.#streamUsage = streamUsage
    this.#cover()
    this.#nextLook = this.#nextLookAt()
  }

  /** Why the hold did not grow any more; null where the engine went beyond what it was told. */
  get refusal(): Refusal | null {
    return this.#refusal
  }

  /** Whether the credit pays for this chunk without a closer look, as it does for most of them. */
  coversAtOnce(chunk: ChatCompletionChunk): boolean {
    const most = piecesOf(chunk).reduce((sum, { text }) => sum + Math.max(1, Buffer.byteLength(text)), 0)
    if (Math.max(runningTokens(chunk), this.#known + this.#mostSince + most) >= this.#nextLook) return false
    this.#mostSince += most
    return true
  }

  /** The same with a closer look. Extends the hold where it has to, unless nobody reads the chunk. */
  async covers(chunk: ChatCompletionChunk, isRead: boolean): Promise<boolean> {
    if (this.coversAtOnce(chunk)) return true
    this.#known = this.#streamUsage.tokensWith(chunk)
    this.#mostSince = 0
    if (this.#known - this.#written >= checkpointTokens) {
      this.#written = this.#known
      void this.#charge.checkpoint()
    }
    if (isRead) await this.#extend()
    this.#nextLook = this.#nextLookAt()
    return this.#known <= this.#limit()
  }

  /** Counting costs time, so it waits until something could depend on it. */
  #nextLookAt(): number {
    const grow = this.#mayGrow() ? this.#covered * extendFromShare : Number.POSITIVE_INFINITY
    const checkpoint = Math.max(this.#written + checkpointTokens, this.#known + leastBetweenLooks)
    return Math.min(checkpoint, this.#limit(), grow)
  }

  #mayGrow(): boolean {
    return this.#charge.restMicroUsd > 0n && this.#refusedAt === null
  }

  /** An engine that keeps to what it was told is never cut, because its tokens are not quite ours. */
  #limit(): number {
    if (this.#charge.restMicroUsd > 0n) return this.#covered
    return overrunFactor * this.#plan.maxCompletionTokens + checkpointTokens
  }

  /** Ahead of need; a step that was refused then is asked for once more when nothing is left. */
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
    // What is set aside for the web buys no tokens.
    const held = microUsd(this.#charge.heldMicroUsd - asideOf(this.#plan))
    this.#covered = tokensFor(model.price, maxPromptTokens, held)
  }
}

/** A hold is extended once this part of its tokens is used, so that a stream does not wait for credit. */
const extendFromShare = 0.75

/** An engine that goes on beyond its limit is cut off at so many times the limit: tokenizers differ, but not by this much. */
const overrunFactor = 2
