import { type Clock, hourMs, minuteMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'
import type { Marks } from './marks.ts'

/** Failures of an address or an account without a wait, because users mistype. */
const freeFailures = 4
/** Failures no longer count after this time. */
const memoryMs = 24 * hourMs
const firstWaitMs = 2_000
/** With this wait, an attacker has a hundred tries a day; the operator can still use a link. */
const longestWaitMs = 15 * minuteMs

/** How long the next try must wait after this many consecutive failures. */
export const waitAfter = (failures: number): number =>
  failures <= freeFailures ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - freeFailures - 1))

/** An allowed try. It counts as a failure until `right` is called. */
export interface Try {
  right(): Promise<void>
}

/**
 * Counts tries by address and account in the ledger's store, so that a restart or another process does not reset the
 * count. Each try takes the next number before it is checked, and a number can be taken only once, so parallel guesses
 * count as one try.
 */
export class Tries {
  readonly #marks: Marks
  readonly #clock: Clock

  constructor({ marks, clock }: { marks: Marks; clock: Clock }) {
    this.#marks = marks
    this.#clock = clock
  }

  /** Returns the time to wait in milliseconds if the try is not allowed yet. */
  async begin(...of: readonly string[]): Promise<Try | number> {
    const counts = await Promise.all(of.map(each => this.#countOf(hashOfSecret(each))))
    const waitMs = Math.max(...counts.map(each => each.waitMs))
    if (waitMs > 0) return waitMs
    const expiresAtMs = this.#clock.now() + memoryMs
    const taken = counts.map(({ hash, next }) => ({ key: `${tryMark(hash)}${numbered(next)}`, expiresAtMs }))
    // Another try has just taken one of these numbers.
    if (!(await this.#marks.write(...taken))) return firstWaitMs
    const right = counts.map(({ hash, next }) => ({ key: `${rightMark(hash)}${numbered(next)}`, expiresAtMs }))
    return { right: async () => void (await this.#marks.write(...right)) }
  }

  async #countOf(hash: string): Promise<{ hash: string; next: number; waitMs: number }> {
    const [tries, rights] = await Promise.all([
      // A number is never taken twice, even after its row has expired.
      this.#marks.begin(tryMark(hash), { expiredToo: true }),
      this.#marks.begin(rightMark(hash)),
    ])
    const lastRight = Math.max(0, ...rights.map(({ rest }) => Number(rest)))
    const nowMs = this.#clock.now()
    const failed = tries.filter(({ rest, untilMs }) => Number(rest) > lastRight && untilMs > nowMs)
    const lastMs = Math.max(0, ...failed.map(({ untilMs }) => untilMs - memoryMs))
    const next = Math.max(lastRight, 0, ...tries.map(({ rest }) => Number(rest))) + 1
    return { hash, next, waitMs: Math.max(0, lastMs + waitAfter(failed.length) - nowMs) }
  }
}

const tryMark = (hash: string) => `console-try:${hash}:`
const rightMark = (hash: string) => `console-right:${hash}:`
const numbered = (number: number) => `${number}`.padStart(9, '0')
