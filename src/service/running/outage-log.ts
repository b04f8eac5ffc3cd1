import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { awayReason, type Store, StoreError } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

interface Outage {
  sinceMs: number
  loggedAtMs: number
  lastFailureMs: number
  failures: number
}

/**
 * A log in which an unreachable ledger takes one line when it becomes unreachable, at most one a minute while it stays
 * so, and one when it is back. Otherwise each call, timer and payment that fails because of it would log a long line.
 */
export class OutageLog implements Log {
  readonly #options: { store: Pick<Store, 'commit'>; clock: Clock; log: Log }
  #outage: Outage | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(options: { store: Pick<Store, 'commit'>; clock: Clock; log: Log }) {
    this.#options = options
  }

  info(facts: object, message: string): void {
    this.#options.log.info(facts, message)
  }

  warn(facts: object, message: string): void {
    if (!this.#isOutage(facts)) this.#options.log.warn(facts, message)
  }

  error(facts: object, message: string): void {
    if (!this.#isOutage(facts)) this.#options.log.error(facts, message)
  }

  /**
   * Called while calls still wait for a ledger that has not answered for this long, so the outage began that long ago.
   */
  noticed(error: unknown, forMs: number): void {
    const reason = awayReason(new StoreError('unreachable', 'The ledger does not answer.', { cause: error })) ?? ''
    this.#begin(reason, this.#options.clock.now() - forMs)
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  /** Whether a line is about the outage, which is already reported. */
  #isOutage(facts: object): boolean {
    const reason = Object.values(facts)
      .map(awayReason)
      .find(found => found !== null)
    if (reason === undefined || reason === null) return false
    this.#failed(reason)
    return true
  }

  #failed(reason: string): void {
    const nowMs = this.#options.clock.now()
    const outage = this.#begin(reason, nowMs)
    outage.failures++
    if (nowMs - outage.loggedAtMs < awayTellMs) return
    outage.loggedAtMs = nowMs
    this.#options.log.error({ reason, ...durationOf(outage, nowMs) }, 'The ledger still cannot be reached.')
  }

  /** Starts the current outage, which is reported once. */
  #begin(reason: string, sinceMs: number): Outage {
    const nowMs = this.#options.clock.now()
    if (!this.#outage) {
      this.#outage = { sinceMs, loggedAtMs: nowMs, lastFailureMs: nowMs, failures: 0 }
      this.#options.log.error({ reason }, 'The ledger cannot be reached; calls wait or are refused until it can.')
      this.#askLater()
    }
    this.#outage.lastFailureMs = nowMs
    return this.#outage
  }

  #askLater(): void {
    this.#timer = setTimeout(() => void this.#ask(), awayAskMs).unref()
  }

  async #ask(): Promise<void> {
    const outage = this.#outage
    if (!outage) return
    const { clock, log } = this.#options
    const askedAtMs = clock.now()
    const isBack = askedAtMs - outage.lastFailureMs >= awayAskMs && (await this.#takesUnits())
    if (!isBack || outage.lastFailureMs > askedAtMs) return this.#askLater()
    this.#outage = null
    log.warn(durationOf(outage, clock.now()), 'The ledger can be reached again.')
  }

  /** Tests with a write, because a full disk can still be read; the row is pruned with the nonces. */
  async #takesUnits(): Promise<boolean> {
    const { clock, store } = this.#options
    const id = `${uuidV7(clock.now())}/outage`
    const asked = store.commit([{ id, ops: [{ op: 'nonce', key: `outage:${id}`, expiresAtMs: clock.now() }] }])
    return asked.then(
      () => true,
      () => false,
    )
  }
}

const durationOf = ({ sinceMs, failures }: Outage, nowMs: number) => ({
  forSeconds: Math.round((nowMs - sinceMs) / 1000),
  failures,
})

/** An unreachable ledger is tested again this long after the last failure. */
const awayAskMs = 1_000

/** How often the log repeats that it is still unreachable. */
const awayTellMs = 60_000
