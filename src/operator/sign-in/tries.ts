import type { Marks } from '#access/identity/marks.ts'
import { type Clock, hourMs, minuteMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'

/** Failures of an address, a device or an operator without a wait, because users mistype. */
const freeFailures = 4
/**
 * Failures for one account from all unknown devices without a wait. One address fails about a hundred times a day, so
 * that only a guesser with several addresses delays the account, and then only on devices that it has never used.
 */
export const freeFailuresOfAccount = 200
/** Failures no longer count after this time. */
const memoryMs = 24 * hourMs
const firstWaitMs = 2_000
/** At this wait, an attacker has a hundred tries a day. */
const longestWaitMs = 15 * minuteMs

/** How long the next try must wait after this many failures, the first of which have no wait. */
export const waitAfter = (failures: number, free = freeFailures): number =>
  failures <= free ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - free - 1))

/** An allowed try. It counts as a failure until `right` is called. */
export interface Try {
  right(): Promise<void>
}

/** The subject whose tries are counted. */
export interface Counted {
  /** Such as an address, a device or an account. */
  of: string
  /** Counts all failures of a day, also those before a try that was right. */
  isTotal?: boolean
}

/**
 * Counts tries in the ledger's store, so that a restart or another process does not reset the count. Each try takes the
 * next number before it is checked, and a number can be taken only once, so parallel guesses count as one try.
 */
export class Tries {
  readonly #marks: Marks
  readonly #clock: Clock

  constructor({ marks, clock }: { marks: Marks; clock: Clock }) {
    this.#marks = marks
    this.#clock = clock
  }

  /** Returns the time to wait in milliseconds if the try is not allowed yet. */
  async begin(...counted: readonly Counted[]): Promise<Try | number> {
    const counts = await Promise.all(counted.map(each => this.#countOf(each)))
    const waitMs = Math.max(...counts.map(each => each.waitMs))
    if (waitMs > 0) return waitMs
    const expiresAtMs = this.#clock.now() + memoryMs
    const taken = counts.map(({ hash, next }) => ({ key: `${tryMark(hash)}${numbered(next)}`, expiresAtMs }))
    // Another try has just taken one of these numbers.
    if (!(await this.#marks.write(...taken))) return firstWaitMs
    const right = counts.map(({ hash, next }) => ({ key: `${rightMark(hash)}${numbered(next)}`, expiresAtMs }))
    return { right: async () => void (await this.#marks.write(...right)) }
  }

  async #countOf({ of, isTotal = false }: Counted): Promise<{ hash: string; next: number; waitMs: number }> {
    const hash = hashOfSecret(of)
    const [tries, rights] = await Promise.all([
      // A number is never taken twice, even after its row has expired.
      this.#marks.begin(tryMark(hash), { expiredToo: true }),
      this.#marks.begin(rightMark(hash)),
    ])
    const nowMs = this.#clock.now()
    const right = new Set(rights.map(({ rest }) => Number(rest)))
    const lastRight = Math.max(0, ...right)
    const isFailed = (number: number) => (isTotal ? !right.has(number) : number > lastRight)
    const failed = tries.filter(({ rest, untilMs }) => isFailed(Number(rest)) && untilMs > nowMs)
    const lastMs = Math.max(0, ...failed.map(({ untilMs }) => untilMs - memoryMs))
    const next = Math.max(lastRight, ...tries.map(({ rest }) => Number(rest))) + 1
    const free = isTotal ? freeFailuresOfAccount : freeFailures
    return { hash, next, waitMs: Math.max(0, lastMs + waitAfter(failed.length, free) - nowMs) }
  }
}

const tryMark = (hash: string) => `console-try:${hash}:`
const rightMark = (hash: string) => `console-right:${hash}:`
const numbered = (number: number) => `${number}`.padStart(9, '0')
