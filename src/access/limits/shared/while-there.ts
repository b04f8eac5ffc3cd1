import type { Clock } from '#contract/time.ts'
import { restMs, sharedLimitMs } from './bounds.ts'

/** Asks what may be away: within a bound, and after a failure not again for a while. */
export class WhileThere {
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #isReady: () => boolean
  #restUntilMs = 0

  constructor(options: { clock: Clock; isReady: () => boolean; limitMs?: number }) {
    this.#clock = options.clock
    this.#isReady = options.isReady
    this.#limitMs = options.limitMs ?? sharedLimitMs
  }

  /** Null where there is no answer in time. Never rejects. */
  async ask<Value>(run: () => Promise<Value>): Promise<Value | null> {
    const nowMs = this.#clock.now()
    // A clock that was set back far must not make the rest a long one.
    const rests = nowMs < this.#restUntilMs && this.#restUntilMs - nowMs <= restMs
    if (!this.#isReady() || rests) return null
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(() => resolve(null), this.#limitMs)
    try {
      const answer = await Promise.race([run().catch(() => null), late])
      if (answer === null) this.#restUntilMs = this.#clock.now() + restMs
      return answer
    } finally {
      clearTimeout(timer)
    }
  }
}
