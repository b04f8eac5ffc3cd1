import { tooManyFailures } from '#contract/errors/errors.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import { abuseBlock } from '#contract/limits.ts'
import { type Clock, isAhead } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { countedSubjects } from './limit-rules.ts'

interface Record {
  /** Times of failures, oldest first; at most as many as trigger a block. */
  failuresMs: number[]
  blockedUntilMs: number
}

/**
 * Brief §7.3: more than 20 failed requests within 30 s block a caller for 30 s. Failures count against a proven
 * identity, otherwise against the address, so a forged identity never counts against its victim.
 */
export class AbuseBlock {
  readonly #clock: Clock
  readonly #records: RecentMap<Record>

  constructor(clock: Clock, limit: number = countedSubjects) {
    this.#clock = clock
    this.#records = new RecentMap(limit)
  }

  /** Throws 429 `tooManyFailures` while the subject is blocked. That answer must not be counted. */
  check(subject: string): void {
    const nowMs = this.#clock.now()
    const untilMs = this.#records.get(subject)?.blockedUntilMs ?? 0
    if (isBlocked(untilMs, nowMs)) throw tooManyFailures(retryAfterHeaders(untilMs, nowMs, 'user'))
  }

  hold(subject: string, untilMs: number): void {
    const known = this.#records.get(subject)?.blockedUntilMs ?? 0
    this.#records.set(subject, { failuresMs: [], blockedUntilMs: Math.max(known, untilMs) })
  }

  /** Which callers are blocked now, and until when. */
  blocked(): { subject: string; untilMs: number }[] {
    const nowMs = this.#clock.now()
    return [...this.#records.keys()].flatMap(subject => {
      const untilMs = this.#records.peek(subject)?.blockedUntilMs ?? 0
      return isBlocked(untilMs, nowMs) ? [{ subject, untilMs }] : []
    })
  }

  /** Ends a block and forgets the failures before it. */
  lift(subject: string): void {
    this.#records.delete(subject)
  }

  /** Counts a failed request. Returns true if it started a block. */
  count(subject: string): boolean {
    const nowMs = this.#clock.now()
    const record = this.#records.get(subject) ?? { failuresMs: [], blockedUntilMs: 0 }
    // Requests that were in flight when the block began must not start the next one.
    if (isBlocked(record.blockedUntilMs, nowMs)) return false
    record.failuresMs = record.failuresMs.filter(atMs =>
      isAhead(atMs + abuseBlock.windowMs, abuseBlock.windowMs, nowMs),
    )
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

const isBlocked = (untilMs: number, nowMs: number): boolean => isAhead(untilMs, abuseBlock.blockMs, nowMs)
