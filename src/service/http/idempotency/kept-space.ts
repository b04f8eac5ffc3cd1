import type { Clock } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { keptAccounts, keptBytesADay, keptSpaceMs, smallAnswerBytes } from './bounds.ts'

/** How much of the disk the answers of each account take, as this process has kept them within a day. */
export class KeptSpace {
  readonly #clock: Clock
  readonly #used = new RecentMap<{ sinceMs: number; bytes: number }>(keptAccounts)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an answer of so many bytes. False where there is no room for it: it is delivered and not kept. */
  take(account: string, bytes: number): boolean {
    if (bytes <= smallAnswerBytes) return true
    const nowMs = this.#clock.now()
    const last = this.#used.get(account)
    const used = last && nowMs - last.sinceMs < keptSpaceMs ? last : { sinceMs: nowMs, bytes: 0 }
    if (used.bytes + bytes > keptBytesADay) return false
    this.#used.set(account, { sinceMs: used.sinceMs, bytes: used.bytes + bytes })
    return true
  }
}
