import { setTimeout as sleep } from 'node:timers/promises'
import { topUpDisabled } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { withSpan } from '#host/tracing/tracing.ts'
import {
  completionIntervalMs,
  completionRows,
  confirmationLookMs,
  confirmationLooks,
  confirmationLooksMs,
  expiryMarginSeconds,
  failedLooks,
  landingLookMs,
  landingLooks,
  landingLooksMs,
  leaseMs,
} from '../bounds.ts'
import type { Facilitator, Settlement } from '../facilitators/rail.ts'
import {
  ChainUnavailable,
  failureWords,
  isSigned,
  type OnChain,
  type PaymentChain,
  paymentIdOf,
  refusedPayment,
  type SignedPayment,
} from '../payment/payment.ts'
import { untimely, validBeforeSecondsOf } from '../rails/rails.ts'
import type { AbandonedPayment, PaymentRow, PaymentRows } from './payment-rows.ts'

/**
 * Drives a payment from its claim to an end: credited, rejected or expired. Money is credited when the chain shows that
 * it arrived, regardless of who submitted it, and a payment that may be in flight is never rejected. The driver of a
 * row holds its lease, and every move compares the fence, so that two drivers produce one credit.
 */
export class PaymentDriver {
  readonly #rows: PaymentRows
  readonly #facilitator: Facilitator
  readonly #chain: PaymentChain
  readonly #clock: Clock
  readonly #log: Log
  readonly #pause: (ms: number) => Promise<unknown>
  #isClosing = false

  constructor(options: DriverOptions) {
    this.#rows = options.rows
    this.#facilitator = options.facilitator
    this.#chain = options.chain
    this.#clock = options.clock
    this.#log = options.log
    this.#pause = options.pause ?? sleep
  }

  /** Counts the confirmations of each payment once more, and leaves them to the next start. */
  close(): void {
    this.#isClosing = true
  }

  /**
   * Starts a payment that is new or was rejected before. Throws `invalidPayment`, or `ChainUnavailable` while nothing
   * is claimed. Its outcome is in its row. `verified` is awaited once the payer is known to have signed the payment and
   * to have the money, or to have sent it; if `verified` throws, nothing is claimed and the error is passed on.
   */
  async begin(payment: SignedPayment, rejected: PaymentRow | null, verified: () => Promise<void>): Promise<void> {
    const late = untimely(payment, this.#clock.now())
    if (late && !late.expired) throw late.refusal
    // A late payment is verified too, so that no forged signature enters the ledger as the payer's.
    const verdict = await this.#facilitator.verify(payment)
    if (!verdict.valid && verdict.why !== undefined)
      this.#log.warn({ payment: paymentIdOf(payment.key), why: verdict.why }, 'The facilitator refuses a payment.')
    if (verdict.valid && !late) {
      await verified()
      return this.#settleFirst(payment, rejected)
    }
    // A late payment or used nonce may also mean that the money has already arrived, submitted by someone else.
    const reason = verdict.valid || (late && isSigned(verdict.reason)) ? 'expired' : verdict.reason
    if (reason === 'expired' || reason === 'nonce_used') {
      const seen = await this.#chain.find(payment, null)
      if (seen.state === 'landed' || seen.state === 'unconfirmed') await verified()
      if (seen.state === 'landed') return this.#rows.credit(rejected, payment, seen)
      if (seen.state === 'unconfirmed') return this.#awaitDepth(payment, rejected)
      if (seen.state === 'void' && seen.reason) throw refusedPayment(seen.reason)
      if (seen.state === 'open' && reason === 'nonce_used') {
        throw new ChainUnavailable('The node reported that the nonce is used, and then that it is not.')
      }
    }
    throw refusedPayment(reason)
  }

  /**
   * Resumes a payment in flight that no process drives. Rejects with `ChainUnavailable`, and frees the row for the next
   * driver.
   */
  async resume(row: PaymentRow): Promise<void> {
    const held = await this.#rows.hold(row, row.state)
    if (!held) return
    const seen = await this.#find(held)
    if (seen.state === 'unconfirmed') return this.#rows.release(held)
    if (seen.state === 'over') return this.#rows.expire(held)
    if (seen.state !== 'open') return this.#end(held, seen)
    if (this.#isOver(held.payment, seen.chainTimeSeconds)) return this.#rows.expire(held)
    if (untimely(held.payment, this.#clock.now())?.expired) return this.#rows.release(held)
    const settling = await this.#rows.hold(held, 'settling')
    // A payment that was only claimed has never been sent, so a refusal counts as on the first attempt.
    if (settling) await this.#attempt(settling, { isFirst: row.state === 'claimed', waits: false })
  }

  async #settleFirst(payment: SignedPayment, rejected: PaymentRow | null): Promise<void> {
    // Money that has already arrived is credited all the same.
    if (await this.#rows.isForSuspended(payment)) throw suspendedPayer()
    const row = await this.#claim(payment, rejected)
    if (row) await this.#attempt(row, { isFirst: true, waits: true })
  }

  /** Nothing more is sent, and the next driver checks whether the transfer stayed in the chain. */
  async #awaitDepth(payment: SignedPayment, rejected: PaymentRow | null): Promise<void> {
    const row = await this.#claim(payment, rejected)
    if (row) await this.#rows.release(row)
  }

  /**
   * Stores the end of the payment's life in the row: a payment that could stay open for ever would never be given up.
   */
  async #claim(payment: SignedPayment, rejected: PaymentRow | null): Promise<PaymentRow | null> {
    const dated = this.#chain.dated ? await this.#chain.dated(payment) : payment
    return this.#rows.claim(dated, rejected)
  }

  async #attempt(row: PaymentRow, { isFirst, waits }: { isFirst: boolean; waits: boolean }): Promise<void> {
    const settlement = await this.#settle(row)
    switch (settlement.state) {
      case 'refused': {
        const seen = await this.#find(row)
        if (seen.state === 'unconfirmed') return this.#rows.release(row)
        if (seen.state === 'landed' || seen.state === 'void') return this.#end(row, seen)
        // An earlier attempt may still be in flight, so this refusal proves nothing. If one node sees a used nonce and
        // the next does not, the next has not seen the transfer yet.
        return isFirst && settlement.reason !== 'nonce_used'
          ? this.#rows.reject(row, settlement.reason)
          : this.#rows.release(row)
      }
      case 'unsent':
        this.#log.error({ payment: paymentIdOf(row.key), why: settlement.why }, 'A payment could not be sent.')
        return this.#rows.release(row)
      case 'doubtful':
        this.#log.warn(
          { payment: paymentIdOf(row.key), why: settlement.why },
          'The facilitator does not report a settlement; checking the chain.',
        )
        return this.#awaitLanding(row, { state: 'doubtful', transaction: row.transaction }, waits)
      default:
        return this.#awaitLanding(row, settlement, waits)
    }
  }

  async #settle(row: PaymentRow): Promise<Settlement | { state: 'lost'; transaction: null }> {
    try {
      return await withSpan('settlement', {}, () => this.#facilitator.settle(row.payment, row.transaction))
    } catch (error) {
      const facts = { payment: paymentIdOf(row.key), failure: failureWords(error) }
      this.#log.warn(facts, 'The facilitator gave no answer; checking the chain.')
      return { state: 'lost', transaction: null }
    }
  }

  /** A facilitator's report is not a transfer: only what the chain shows is credited. */
  async #awaitLanding(
    row: PaymentRow,
    settlement: { state: string; transaction: string | null },
    waits: boolean,
  ): Promise<void> {
    const facts = { payment: paymentIdOf(row.key), transaction: settlement.transaction }
    let held: PaymentRow | null = row
    let seen: OnChain | null = null
    // If a connection broke once, often together with the lost answer, the chain may still be reachable.
    const patience = AbortSignal.timeout(landingLooksMs)
    for (let look = 0, failures = 0; look < landingLooks && failures < failedLooks && held; look++) {
      // A check may take long on a slow chain, and the driver must finish within its lease.
      if (patience.aborted) break
      if (look > 0) await this.#pause(landingLookMs)
      seen = await this.#chain.find(held.payment, settlement.transaction).catch(() => null)
      if (seen?.state === 'landed' || seen?.state === 'void') return this.#end(held, seen)
      if (!seen) failures++
      if (look === 0) held = await this.#rows.hold(held, 'unknown', settlement.transaction)
      if (seen?.state === 'unconfirmed') break
    }
    if (!held) return
    if (seen?.state === 'unconfirmed') return this.#awaitConfirmations(held, settlement.transaction, waits)
    if (settlement.state === 'settled')
      this.#log.error(facts, 'The chain does not show a payment that the facilitator reports as settled.')
    else this.#log.warn(facts, 'A payment was sent but is not on the chain yet; it is checked again.')
    await this.#rows.release(held)
  }

  /** Only the first request waits for confirmations: later drivers have other payments to drive. */
  async #awaitConfirmations(row: PaymentRow, transaction: string | null, waits: boolean): Promise<void> {
    let held: PaymentRow | null = row
    const patience = AbortSignal.timeout(confirmationLooksMs)
    for (let look = 0, failures = 0; waits && look < confirmationLooks && failures < failedLooks && held; look++) {
      if (!this.#isClosing) await this.#pause(confirmationLookMs)
      const isLast = patience.aborted || this.#isClosing
      const seen = await this.#chain.find(held.payment, transaction).catch(() => null)
      if (seen?.state === 'landed' || seen?.state === 'void') return this.#end(held, seen)
      if (isLast) break
      // Its block was dropped, or a node that is behind does not have it yet.
      failures = seen?.state === 'unconfirmed' ? 0 : failures + 1
      if ((held.leaseUntilMs ?? 0) - this.#clock.now() < leaseMs / 2)
        held = await this.#rows.hold(held, 'unknown', transaction)
    }
    if (!held) return
    const facts = { payment: paymentIdOf(row.key), transaction }
    this.#log.info(facts, 'A payment has too few confirmations so far; it is checked again.')
    await this.#rows.release(held)
  }

  /** Frees the row if the chain is unreachable, so that the next driver need not wait for the lease. */
  async #find(row: PaymentRow, transaction: string | null = row.transaction): Promise<OnChain> {
    try {
      return await this.#chain.find(row.payment, transaction)
    } catch (error) {
      await this.#rows.release(row)
      throw error
    }
  }

  async #end(row: PaymentRow, seen: Extract<OnChain, { state: 'landed' | 'void' }>): Promise<void> {
    if (seen.state === 'landed') return this.#rows.credit(row, row.payment, seen)
    return this.#rows.reject(row, seen.reason ?? 'nonce_used')
  }

  /** Uses the chain's clock, which alone decides whether the authorization can still land; ours may be wrong. */
  #isOver(payment: SignedPayment, chainTimeSeconds: number | undefined): boolean {
    const validBefore = validBeforeSecondsOf(payment)
    if (validBefore === undefined || chainTimeSeconds === undefined) return false
    const nowSeconds = this.#clock.now() / 1000
    return chainTimeSeconds >= validBefore && nowSeconds > validBefore + expiryMarginSeconds
  }
}

const suspendedPayer = () =>
  topUpDisabled({
    error: 'X402_ACCESS_DISABLED',
    message:
      'API access has been disabled for this account, so nothing was taken. Contact the operator of this service, and do not sign another payment.',
  })

interface DriverOptions {
  rows: PaymentRows
  facilitator: Facilitator
  chain: PaymentChain
  clock: Clock
  log: Log
  /** Waits between two checks of the chain; `setTimeout` by default. */
  pause?: (ms: number) => Promise<unknown>
}

/** Finishes payments whose request is gone: after a crash, a lost answer or an unreachable chain. */
export class Completer {
  readonly #rows: PaymentRows
  readonly #driver: PaymentDriver
  readonly #log: Log
  #timer: NodeJS.Timeout | null = null
  #round: Promise<void> = Promise.resolve()

  constructor(options: { rows: PaymentRows; driver: PaymentDriver; log: Log }) {
    this.#rows = options.rows
    this.#driver = options.driver
    this.#log = options.log
  }

  /** Runs a round now and then periodically. Resolves after the first. */
  async start(): Promise<void> {
    await this.#rows.freeDead()
    this.#timer ??= setInterval(() => this.#startRound(), completionIntervalMs).unref()
    return this.#startRound()
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#round
  }

  /** Runs one round. If a chain is unreachable, the rail's other payments are postponed too. */
  async complete(): Promise<void> {
    /** By rail, the payment whose chain did not answer. */
    const silent = new Map<string, string>()
    for (const payment of await this.#rows.abandoned(completionRows)) {
      const rail = payment.row?.payment.rail
      if (rail && silent.has(rail)) await this.#rows.postpone(payment)
      else if (!(await this.#completeOne(payment)) && rail) silent.set(rail, payment.key)
    }
    for (const key of silent.values()) await this.#postponeLast(key)
  }

  /** A payment about which its node never answers would otherwise be first in every round, and keep out all others. */
  async #postponeLast(key: string): Promise<void> {
    const payment = await this.#rows.seen(key)
    if (payment?.row?.state === 'unknown' && !(await this.#rows.isDriven(payment.row)))
      await this.#rows.postpone(payment)
  }

  async #completeOne(payment: AbandonedPayment): Promise<boolean> {
    try {
      if (payment.row) await this.#driver.resume(payment.row)
      else await this.#leave(payment)
      return true
    } catch (error) {
      const facts = { payment: paymentIdOf(payment.key), failure: failureWords(error) }
      this.#log.warn(facts, 'A payment could not be completed yet; it is retried.')
      return !(error instanceof ChainUnavailable)
    }
  }

  /** Its money may have arrived, so it is neither rejected nor credited until it can be read. */
  async #leave(payment: AbandonedPayment): Promise<void> {
    const facts = { payment: paymentIdOf(payment.key) }
    this.#log.error(facts, 'A stored payment cannot be read and is skipped; start the release that wrote it.')
    await this.#rows.postpone(payment)
  }

  /** Rounds never overlap: a round that is due while another runs is skipped. */
  #startRound(): Promise<void> {
    if (this.#isRunning) return this.#round
    this.#isRunning = true
    this.#round = this.complete()
      .catch(err => this.#log.error({ err }, 'Looking for unfinished payments failed; the next round tries again.'))
      .finally(() => {
        this.#isRunning = false
      })
    return this.#round
  }

  #isRunning = false
}
