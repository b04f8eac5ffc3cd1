import type { Clock } from '#contract/time.ts'
import { lessonMs, mostAtOnce, turnLifeMs } from '../limits.ts'

/**
 * How many calls this process makes at once, learned from answers: a refusal for too many halves the number, and
 * successes at the limit raise it by one per round. As with connections that share a line, each process learns its own
 * share, so nothing is stored, and a process that dies leaves nothing behind.
 */
export class InFlightLimit {
  readonly #clock: Clock
  /** When the holder of each slot is considered gone. */
  readonly #taken = new Map<string, number>()
  readonly #waiting: AbortController[] = []
  #most: number
  #learntAtMs = 0

  constructor(clock: Clock, start: number) {
    this.#clock = clock
    this.#most = start
  }

  get taken(): number {
    return this.#taken.size
  }

  /** A whole number, at least 1. */
  get most(): number {
    return Math.floor(this.#most)
  }

  take(id: string): boolean {
    const nowMs = this.#clock.now()
    if (this.#taken.size >= this.most) {
      for (const [other, untilMs] of this.#taken) if (untilMs <= nowMs) this.#taken.delete(other)
    }
    if (this.#taken.size >= this.most) return false
    this.#taken.set(id, nowMs + turnLifeMs)
    return true
  }

  leave(id: string): void {
    if (this.#taken.delete(id)) this.#waiting.shift()?.abort()
  }

  /** For a call that was not sent. Wakes no waiter, because the next call could not be sent either. */
  giveBack(id: string): void {
    this.#taken.delete(id)
  }

  /** An answer came. The limit grows only while every slot is taken. */
  succeeded(): void {
    if (this.#taken.size >= this.most) this.#most = Math.min(mostAtOnce, this.#most + 1 / this.#most)
  }

  /** The service had too many calls at once. */
  refused(): void {
    const nowMs = this.#clock.now()
    if (nowMs - this.#learntAtMs < lessonMs) return
    this.#learntAtMs = nowMs
    this.#most = Math.max(1, Math.floor(this.most / 2))
  }

  /** Runs a wait that ends when a slot becomes free, in order of arrival. */
  async untilLeft(wait: (woken: AbortSignal) => Promise<void>): Promise<void> {
    const wake = new AbortController()
    this.#waiting.push(wake)
    try {
      await wait(wake.signal)
    } finally {
      const at = this.#waiting.indexOf(wake)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }
}
