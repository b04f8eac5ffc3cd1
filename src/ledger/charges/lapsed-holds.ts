import type { Clock } from '#contract/time.ts'
import { holdRenewalMs, recoveryIntervalMs } from '../bounds.ts'

/** Its owner lives and reaches the books where it does not come by a renewal in this time, and with room for a busy moment. */
export const lapsedForMs = holdRenewalMs + recoveryIntervalMs

interface Seen {
  untilMs: number
  sinceMs: number
}

/**
 * Lapsed holds, and since when this process has seen them so. Where the books were away, those of everybody have lapsed
 * once they are back, and whoever looks first would end what others are about to renew; so a hold is ended only where it
 * stays lapsed for longer than a renewal takes while the books answer.
 */
export class LapsedHolds {
  #before = new Map<string, Seen>()
  #now = new Map<string, Seen>()
  #lookedAtMs = 0

  /** One look at the books, whose failure is the caller's. */
  async look(clock: Clock, run: () => Promise<unknown>): Promise<void> {
    await run()
    // Those that this look did not meet have been renewed or ended.
    this.#before = this.#now
    this.#now = new Map()
    this.#lookedAtMs = clock.now()
  }

  /** Whether this one has been lapsed for long enough; a renewal since then begins it anew. */
  isDue(id: string, untilMs: number, nowMs: number): boolean {
    // A look was missed or kept waiting, so nobody could renew meanwhile, and what was seen before says nothing.
    if (nowMs - this.#lookedAtMs > 2 * recoveryIntervalMs) {
      this.#before.clear()
      this.#now.clear()
    }
    this.#lookedAtMs = nowMs
    const seen = this.#now.get(id) ?? this.#before.get(id)
    const sinceMs = seen?.untilMs === untilMs ? seen.sinceMs : nowMs
    this.#now.set(id, { untilMs, sinceMs })
    return nowMs - sinceMs >= lapsedForMs
  }
}
