import { tooManyFailures } from '#contract/errors/errors.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import { abuseBlock } from '#contract/limits.ts'
import type { Clock } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { countedSubjects } from './limit-rules.ts'

interface Record {
  /** When it failed, oldest first; at most as many as block. */
  failuresMs: number[]
  blockedUntilMs: number
}

/**
 * Brief §7.3: more than 20 answers without success within 30 s block a caller for 30 s. The caller is who proved to be
 * one, else an address; a claim that was not proved never counts against whom it names.
 */
export class AbuseBlock {
  readonly #clock: Clock
  readonly #records: RecentMap<Record>

  constructor(clock: Clock, limit: number = countedSubjects) {
    this.#clock = clock
    this.#records = new RecentMap(limit)
  }

  /** Throws 429 `tooManyFailures` while the subject is blocked. Its own answer is not to be counted. */
  check(subject: string): void {
    const nowMs = this.#clock.now()
    const untilMs = this.#records.get(subject)?.blockedUntilMs ?? 0
    if (nowMs < untilMs) throw tooManyFailures(retryAfterHeaders(untilMs, nowMs, 'user'))
  }

  /** Blocks whom another process counted, until then. */
  hold(subject: string, untilMs: number): void {
    const known = this.#records.get(subject)?.blockedUntilMs ?? 0
    this.#records.set(subject, { failuresMs: [], blockedUntilMs: Math.max(known, untilMs) })
  }

  /** One answer without success. True when this one started a block. */
  count(subject: string): boolean {
    const nowMs = this.#clock.now()
    const record = this.#records.get(subject) ?? { failuresMs: [], blockedUntilMs: 0 }
    // Requests that were on their way when the block began must not start the next one.
    if (nowMs < record.blockedUntilMs) return false
    record.failuresMs = record.failuresMs.filter(atMs => nowMs - atMs < abuseBlock.windowMs)
    record.failuresMs.push(nowMs)
    const blocks = record.failuresMs.length > abuseBlock.failures
    if (blocks) {
      record.failuresMs = []
      record.blockedUntilMs = nowMs + abuseBlock.blockMs
    }
    this.#records.set(subject, record)
    return blocks
  }
}
