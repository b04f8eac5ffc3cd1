import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { settlementPending, topUpFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import type { Log } from '#host/log.ts'
import { awayReason, ledgerCreatedAtMs, type Store } from '#ledger/store/store.ts'
import {
  answerWaitMs,
  birthMarginMs,
  closeMs,
  pausedRetrySeconds,
  paymentsInFlight,
  retryAfterSeconds,
  rowPollMs,
  uncountedOfAddress,
} from '../bounds.ts'
import { type Drafts, type Facilitator, type OpenRail, SettlementPaused } from '../facilitators/rail.ts'
import {
  ChainUnavailable,
  failureWords,
  type OnChain,
  type PaymentChain,
  paymentIdOf,
  readPayment,
  refusedPayment,
  type SignedPayment,
  storePayment,
} from '../payment/payment.ts'
import {
  checkTerms,
  decodePayment,
  isSamePayment,
  type PaymentSettings,
  payerOf,
  RailChains,
  RailFacilitators,
  rails,
} from '../rails/rails.ts'
import { Completer, PaymentDriver } from './payment-driver.ts'
import { type PaymentLook, PaymentLooks } from './payment-looks.ts'
import { type PaymentRow, PaymentRows, refusalOf, type TopUpAnswer } from './payment-rows.ts'
import { PayeeWatch, PaymentWatch } from './payment-watch.ts'
import { type DraftOrder, type Payments, type TopUpRequest, type TopUpSettings, topUpOffer } from './top-up-offer.ts'

export interface TopUpsOptions {
  settings: TopUpSettings
  store: Store
  clock: Clock
  log: Log
  facilitator: Facilitator
  chain: PaymentChain
  /** Draft payments for wallets, by network; none by default. */
  drafts?: Readonly<Record<string, Drafts>>
  /** Identifies this process in leases; changes with every start. */
  owner: string
  /** How long a request waits for its payment; `answerWaitMs` by default. */
  answerWaitMs?: number
  /** How long `close` waits for payments, and then for the facilitator; `closeMs` by default. */
  closeMs?: number
}

/** Credits signed payments (brief §4.1). One payment is credited once, however often it is sent. */
export class TopUps implements Payments {
  /** Finishes payments that were left behind; started by the running service and stopped by `close`. */
  readonly completer: Completer
  /** Knows whether payments can be settled; started and stopped like the completer. */
  readonly watch: PaymentWatch
  readonly #settings: TopUpsOptions['settings']
  readonly #drafts: Readonly<Record<string, Drafts>>
  readonly #log: Log
  readonly #rows: PaymentRows
  readonly #driver: PaymentDriver
  readonly #facilitator: Facilitator
  readonly #waitMs: number
  readonly #closeMs: number
  readonly #payees: PayeeWatch
  readonly #looks: PaymentLooks
  /** Concurrent requests with the same payment share one run. */
  readonly #works = new Map<string, Promise<void>>()
  /** By address, its payments that are being checked and count towards no limit yet. */
  readonly #uncounted = new Map<string, number>()

  /** Throws if an option's network has no facilitator. */
  constructor(options: TopUpsOptions) {
    const settled = options.facilitator.supported()
    const orphan = options.settings.paymentOptions.find(({ network }) => !settled.includes(network))
    if (orphan)
      throw new Error(`No facilitator settles payments on ${orphan.network}; remove it from the payment options.`)
    this.#settings = options.settings
    this.#drafts = options.drafts ?? {}
    this.#log = options.log
    this.#facilitator = options.facilitator
    this.#rows = new PaymentRows(options)
    const chain = new LedgerChain(options.chain, options.store)
    this.#driver = new PaymentDriver({ ...options, chain, rows: this.#rows })
    this.#waitMs = options.answerWaitMs ?? answerWaitMs
    this.#closeMs = options.closeMs ?? closeMs
    this.#looks = new PaymentLooks({ ...options, chain, rows: this.#rows, driver: this.#driver })
    this.completer = new Completer({ rows: this.#rows, driver: this.#driver, log: options.log })
    this.watch = new PaymentWatch({ ...options, options: options.settings.paymentOptions })
    this.#payees = new PayeeWatch({ ...options, options: options.settings.paymentOptions })
  }

  /** Finishes what a crash left, then drives payments until `close`. */
  async start(): Promise<void> {
    this.watch.start()
    await this.#payees.start()
    await this.completer.start()
  }

  async topUp(request: TopUpRequest): Promise<TopUpAnswer> {
    const { header, count } = request
    const { received, payment } = await this.#read(header, count)
    const row = await this.#rows.find(payment.key)
    // A known payment gets its answer unchanged, whatever the current terms are.
    if (row && !isSamePayment(row.payment, payment)) {
      await count('address')
      throw refusedPayment('nonce_used')
    }
    if (row?.state === 'credited' || row?.state === 'expired') return this.#answer(row, payment)
    if (!row) await counted(count, () => checkTerms(payment, received))
    await this.#within(this.#join(payment, request), payment)
    return this.#answer(await this.#rows.find(payment.key), payment)
  }

  lookAgain(key: string): Promise<PaymentLook | null> {
    return this.#looks.look(key)
  }

  problems(): readonly string[] {
    return this.watch.problems
  }

  async draft({ network, payer, amount }: DraftOrder): Promise<string | null> {
    const option = this.#settings.paymentOptions.find(each => each.network === network)
    const drafts = this.#drafts[network]
    return option && drafts ? drafts.draft({ payer, amount, option }) : null
  }

  async #read(header: HeaderReader, count: TopUpRequest['count']) {
    const received = await counted(count, () => readPayment(header))
    if (!received) {
      await count('offer')
      throw topUpOffer(this.#settings)
    }
    return { received, payment: await counted(count, () => decodePayment(received, this.#settings.paymentOptions)) }
  }

  /**
   * Resolves when no payment is being driven, or after `closeMs`. A payment that a facilitator still has is then in
   * flight as after a crash, and the next start finds it. Stop accepting requests first.
   */
  async close(): Promise<void> {
    this.#payees.stop()
    this.#driver.close()
    const works = [this.completer.stop(), this.watch.stop(), this.#looks.end(), ...this.#works.values()]
    if (!(await this.#isSoon(Promise.allSettled(works))))
      this.#log.warn({}, 'Some payments are still being settled; they continue at the next start.')
    if (!(await this.#isSoon(this.#facilitator.close?.()))) this.#log.warn({}, 'The facilitator could not be closed.')
  }

  /** Whether it ends soon enough for a stopping service, because a remote facilitator may take any time. */
  async #isSoon(end: Promise<unknown> | undefined): Promise<boolean> {
    const patience = new AbortController()
    const late = sleep(this.#closeMs, false, { signal: patience.signal }).catch(() => true)
    try {
      return await Promise.race([Promise.resolve(end).then(() => true), late])
    } finally {
      patience.abort()
    }
  }

  #join(payment: SignedPayment, request: TopUpRequest): Promise<void> {
    const name = storePayment(payment)
    const known = this.#works.get(name)
    if (known) return known
    if (this.#works.size >= paymentsInFlight) throw this.#failed('Too many payments are being settled.')
    const work = this.#work(payment, request).finally(() => this.#works.delete(name))
    this.#works.set(name, work)
    return work
  }

  /**
   * A rejected payment is checked again, which costs as much as a new one. Concurrent copies share one run and count
   * once.
   */
  async #work(payment: SignedPayment, request: TopUpRequest): Promise<void> {
    const row = await this.#rows.find(payment.key)
    if (!row || row.state === 'rejected') {
      await this.#begin(payment, row, request)
    } else if (!isEnded(row) && !(await this.#rows.isDriven(row))) await this.#driver.resume(row)
    await this.#watch(payment.key)
  }

  /**
   * A verified payment counts towards its payer's limit, before anything is claimed; any other counts towards its
   * address's.
   */
  async #begin(payment: SignedPayment, row: PaymentRow | null, { address, count }: TopUpRequest): Promise<void> {
    const leave = this.#enterUncounted(address)
    let isCounted = false
    const verified = async () => {
      isCounted = true
      await count({ payer: payerOf(payment) })
      leave()
    }
    try {
      await this.#driver.begin(payment, row, verified)
    } catch (error) {
      if (!isCounted) await count('address')
      throw error
    } finally {
      leave()
    }
  }

  /** Call the returned function when the payment has been counted. */
  #enterUncounted(address: string): () => void {
    const before = this.#uncounted.get(address) ?? 0
    if (before >= uncountedOfAddress) throw this.#failed('Too many payments from this address are being checked.')
    this.#uncounted.set(address, before + 1)
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      const left = (this.#uncounted.get(address) ?? 0) - 1
      if (left > 0) this.#uncounted.set(address, left)
      else this.#uncounted.delete(address)
    }
  }

  /** Waits for another process that drives the payment. */
  async #watch(key: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < this.#waitMs; waitedMs += rowPollMs) {
      const row = await this.#rows.find(key)
      if (!row || isEnded(row) || !(await this.#rows.isDriven(row))) return
      await sleep(rowPollMs)
    }
  }

  /** Waits for work that continues whether or not anyone waits. */
  async #within(work: Promise<void>, payment: SignedPayment): Promise<void> {
    const patience = new AbortController()
    const timeout = sleep(this.#waitMs, undefined, { signal: patience.signal }).catch(() => {})
    try {
      await Promise.race([work, timeout])
    } catch (error) {
      // The request handler itself answers when the ledger is unreachable.
      throw awayReason(error) === null ? await this.#failureOf(error, payment) : error
    } finally {
      patience.abort()
      // If no request waits any more, the row records the outcome.
      work.catch(() => {})
    }
  }

  async #failureOf(error: unknown, payment: SignedPayment): Promise<ServiceError> {
    if (error instanceof ServiceError) return error
    const facts = { payment: paymentIdOf(payment.key), failure: failureWords(error) }
    if (error instanceof SettlementPaused) {
      const why = error.why === null ? {} : { why: error.why }
      this.#log.error({ ...facts, ...why }, 'A payment was refused because settling is paused.')
      return this.#failed(error.message, pausedRetrySeconds)
    }
    if (!(error instanceof ChainUnavailable)) {
      this.#log.error({ ...facts, err: error }, 'A top-up failed with an unexpected error.')
      return this.#pending(payment)
    }
    this.#log.warn(facts, 'The chain could not be queried about a payment.')
    if (await this.#rows.exists(payment.key)) return this.#pending(payment)
    return this.#failed('The chain cannot be reached, so the payment could not be checked.')
  }

  async #answer(row: PaymentRow | null, payment: SignedPayment): Promise<TopUpAnswer> {
    switch (row?.state) {
      case 'credited':
        if (!isSamePayment(row.payment, payment)) throw refusedPayment('nonce_used')
        return this.#rows.answerOf(row)
      case 'rejected':
        throw refusedPayment(refusalOf(row))
      case 'expired':
        throw refusedPayment('expired')
      default:
        throw this.#pending(payment)
    }
  }

  #pending(payment: SignedPayment): ServiceError {
    return settlementPending(
      {
        error: 'X402_SETTLEMENT_PENDING',
        message:
          'The payment was accepted and is not settled yet. Send the same signed payment again in a few seconds; do not sign a new one.',
        details: { retry: 'same-payload', paymentId: paymentIdOf(payment.key) },
      },
      retryIn(retryAfterSeconds),
    )
  }

  /** Nothing was claimed yet, so the signed payment is as good as before. */
  #failed(cause: string, seconds = retryAfterSeconds): ServiceError {
    const message = `${cause} Nothing was taken. Send the same signed payment again in ${seconds} seconds; do not sign a new one.`
    return topUpFailed({ error: 'X402_TOP_UP_FAILED', message, details: { retry: 'same-payload' } }, retryIn(seconds))
  }
}

const retryIn = (seconds: number) => ({ [retryAfter.name]: retryAfter.format(seconds) })

const isEnded = ({ state }: PaymentRow): boolean => state === 'credited' || state === 'rejected' || state === 'expired'

/** A refused payment also counts, because it costs us more than a good one. */
async function counted<Value>(count: TopUpRequest['count'], check: () => Value): Promise<Value> {
  try {
    return check()
  } catch (error) {
    await count('address')
    throw error
  }
}

/**
 * A chain as this ledger sees it: a transfer that is older than the ledger was, or could be, credited in another one.
 * Two ledgers that share a payee from now on cannot know of each other, so a payee belongs to one ledger.
 */
export class LedgerChain implements PaymentChain {
  readonly #chain: PaymentChain
  readonly #store: Pick<Store, 'read'>
  #madeAtMs: number | null = null

  constructor(chain: PaymentChain, store: Pick<Store, 'read'>) {
    this.#chain = chain
    this.#store = store
  }

  async find(payment: SignedPayment, transaction: string | null): Promise<OnChain> {
    const seen = await this.#chain.find(payment, transaction)
    // If the chain has forgotten the time, money that arrived is credited.
    if (seen.state !== 'landed' || seen.atSeconds === undefined) return seen
    this.#madeAtMs ??= await ledgerCreatedAtMs(this.#store)
    const isOlder = seen.atSeconds * 1000 < this.#madeAtMs - birthMarginMs
    return isOlder ? { state: 'void', reason: 'paid_before' } : seen
  }

  async dated(payment: SignedPayment): Promise<SignedPayment> {
    return (await this.#chain.dated?.(payment)) ?? payment
  }
}

/** Accepts payments on the configured rails, and finishes what a crash left. Contacts no chain before it is used. */
export async function openPayments(
  payments: PaymentSettings,
  parts: Pick<TopUpsOptions, 'settings' | 'store' | 'clock' | 'log'>,
): Promise<TopUps> {
  const open: [name: string, rail: OpenRail][] = []
  for (const rail of rails) {
    const opened = await rail.open(payments, parts.clock)
    if (opened) open.push([rail.name, opened])
  }
  const chain = new RailChains(Object.fromEntries(open.map(([name, rail]) => [name, rail.chain])))
  const facilitator = new RailFacilitators(Object.fromEntries(open.map(([name, rail]) => [name, rail.facilitator])))
  const drafts = Object.fromEntries(
    parts.settings.paymentOptions.flatMap(({ network }) => {
      const name = rails.find(rail => rail.serves(network))?.name
      const drafting = open.find(([each]) => each === name)?.[1].drafts
      return drafting ? [[network, drafting]] : []
    }),
  )
  const topUps = new TopUps({ ...parts, chain, facilitator, drafts, owner: randomUUID() })
  await topUps.start()
  return topUps
}
