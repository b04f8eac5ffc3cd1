import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#contract/time.ts'
import { retryBudgetMs } from '../limits.ts'

/** Waits; rejects when the signal is aborted. */
export type Pause = (ms: number, signal: AbortSignal | undefined) => Promise<void>

export const waitFor: Pause = (ms, signal) => sleep(ms, undefined, signal ? { signal } : {})

export interface WaitBudgetOptions {
  clock: Clock
  ms?: number | undefined
  pause?: Pause | undefined
  signal?: AbortSignal | undefined
}

/** All waits of one call together: for its limits, for a turn, and between its attempts. */
export class WaitBudget {
  #leftMs: number
  readonly #clock: Clock
  readonly #pause: Pause
  readonly #signal: AbortSignal | undefined

  constructor({ clock, ms = retryBudgetMs, pause = waitFor, signal }: WaitBudgetOptions) {
    this.#leftMs = ms
    this.#clock = clock
    this.#pause = pause
    this.#signal = signal
  }

  get isSpent(): boolean {
    return this.#leftMs <= 0
  }

  covers(ms: number): boolean {
    return ms <= this.#leftMs
  }

  /** Waits that long, or what is left of the budget. Rejects when the call is aborted. */
  async wait(ms: number): Promise<void> {
    this.throwIfAborted()
    const waitMs = Math.min(ms, this.#leftMs)
    this.#leftMs -= waitMs
    await this.#pause(waitMs, this.#signal)
  }

  /** The same, and over as soon as it is woken; then only the time that has passed is taken off. */
  async waitUntil(woken: AbortSignal, ms: number): Promise<void> {
    this.throwIfAborted()
    const waitMs = Math.min(ms, this.#leftMs)
    const startedAtMs = this.#clock.now()
    try {
      await this.#pause(waitMs, this.#signal ? AbortSignal.any([this.#signal, woken]) : woken)
      this.#leftMs -= waitMs
    } catch (error) {
      this.throwIfAborted()
      if (!woken.aborted) throw error
      this.#leftMs -= Math.min(waitMs, Math.max(0, this.#clock.now() - startedAtMs))
    }
  }

  throwIfAborted(): void {
    this.#signal?.throwIfAborted()
  }
}
