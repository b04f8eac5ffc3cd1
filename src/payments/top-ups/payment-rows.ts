import { microUsd, toUsdNumber } from '#contract/money.ts'
import type { TopUpResult } from '#contract/operations/wallet.ts'
import type { Clock } from '#contract/time.ts'
import type { SettlementResponse } from '#contract/wire/payment.ts'
import { isSuspended, openWalletAccount, WalletAccounts, walletAccountId } from '#ledger/accounts/customers.ts'
import { isClockShared, type Outcome, type Store } from '#ledger/store/store.ts'
import type { Op, PaymentFields, PaymentState } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { freedRows, leaseMs } from '../bounds.ts'
import {
  amountOf,
  type OnChain,
  type PaymentReason,
  paymentIdOf,
  type SignedPayment,
  storePayment,
} from '../payment/payment.ts'
import { payerOf, readStoredPayment, validBeforeSecondsOf } from '../rails/rails.ts'

/** One payment as stored in the ledger. `fence` is what a move must have seen. */
export interface PaymentRow {
  key: string
  state: PaymentState
  fence: number
  payment: SignedPayment
  transaction: string | null
  /** JSON: `CreditedAnswer` if it was credited, `{refused}` if it was rejected. */
  answer: string | null
  /** Null if no process drives it. */
  leaseUntilMs: number | null
  leaseOwner: string | null
}

/** The answer to every resend, byte for byte. */
export interface TopUpAnswer {
  body: string
  settlement: SettlementResponse
}

/** The part of the answer that is known before the credit; the balance comes from the credit's entry. */
interface CreditedAnswer {
  walletAddress: string
  paymentId: string
  settlement: SettlementResponse
}

/** A payment that no process drives; `row` is null if this release cannot read it. */
export interface AbandonedPayment {
  key: string
  state: PaymentState
  fence: number
  row: PaymentRow | null
}

type Landing = Extract<OnChain, { state: 'landed' }>

/** The unique reference of a credit in the ledger. */
const creditRef = (key: string): string => `topup:${key}`

/** Reads and moves payments. A move returns null if another process made it in the meantime. */
export class PaymentRows {
  readonly #store: Store
  readonly #clock: Clock
  readonly #owner: string
  readonly #wallets: WalletAccounts

  constructor(options: { store: Store; clock: Clock; owner: string }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#owner = options.owner
    this.#wallets = new WalletAccounts(options.store)
  }

  async exists(key: string): Promise<boolean> {
    const row = await this.#store.read.selectFrom('payment').select('id').where('id', '=', key).executeTakeFirst()
    return row !== undefined
  }

  /** Whether the account that this payment would be credited to is suspended. */
  async isForSuspended(payment: SignedPayment): Promise<boolean> {
    const wallet = payerOf(payment)
    return isSuspended(this.#store, (await this.#wallets.find(wallet)) ?? walletAccountId(wallet))
  }

  async find(key: string): Promise<PaymentRow | null> {
    const [row] = await this.#rows().where('id', '=', key).execute()
    return row ? readRow(row) : null
  }

  /** Also finds a payment that this release cannot read; its `row` is then null. */
  async seen(key: string): Promise<AbandonedPayment | null> {
    const [row] = await this.#rows().where('id', '=', key).execute()
    return row ? { key, state: row.state, fence: row.fence, row: readRowOrNull(row) } : null
  }

  /**
   * Returns payments in flight that no process drives any more; those that have waited longest come first. Excludes
   * those of other processes while our clock cannot judge their leases.
   */
  async abandoned(limit: number): Promise<AbandonedPayment[]> {
    const now = this.#clock.now()
    const isShared = await isClockShared(this.#store)
    const rows = await this.#rows()
      .where('state', 'in', ['claimed', 'settling', 'unknown'])
      .where(where => where.or([where('lease_until_ms', 'is', null), where('lease_until_ms', '<=', now)]))
      .$if(!isShared, query =>
        query.where(where => where.or([where('lease_owner', 'is', null), where('lease_owner', '=', this.#owner)])),
      )
      .orderBy('updated_at_ms')
      .limit(limit)
      .execute()
    return rows.map(row => ({ key: row.id, state: row.state, fence: row.fence, row: readRowOrNull(row) }))
  }

  /** Called once at startup: if no other process writes, payments that another owner leased are free at once. */
  async freeDead(): Promise<void> {
    while (this.#store.soleOwner) {
      const dead = await this.#store.read
        .selectFrom('payment')
        .select(['id', 'state', 'fence'])
        .where('state', 'in', ['claimed', 'settling', 'unknown'])
        .where('lease_owner', '!=', this.#owner)
        .limit(freedRows)
        .execute()
      const moves = dead.map(({ id, state, fence }) => this.#move(id, state, state, fence, { lease: null }))
      const outcomes = await this.#store.commit(moves.map(move => ({ id: uuidV7(this.#clock.now()), ops: [move] })))
      if (!outcomes.some(outcome => outcome.ok)) return
    }
  }

  /** Moves this payment to the end: rounds take those that have waited longest first. */
  async postpone({ key, state, fence }: AbandonedPayment): Promise<void> {
    const outcome = await this.#commit([this.#move(key, state, state, fence, {})])
    if (!outcome.ok) lostOr(outcome)
  }

  async isDriven({ leaseUntilMs, leaseOwner }: PaymentRow): Promise<boolean> {
    if (leaseUntilMs === null) return false
    if (leaseUntilMs > this.#clock.now()) return true
    return leaseOwner !== this.#owner && !(await isClockShared(this.#store))
  }

  /** Claims the key and marks the payment as settling: from here on only the chain shows the outcome. */
  async claim(payment: SignedPayment, rejected: PaymentRow | null): Promise<PaymentRow | null> {
    const fence = rejected?.fence ?? 0
    const set = { ...factsOf(payment), lease: this.#lease() }
    const claimed = this.#move(payment.key, rejected ? 'rejected' : null, 'claimed', fence, set)
    const settling = this.#move(payment.key, 'claimed', 'settling', fence + 1, {})
    const outcome = await this.#commit([claimed, settling])
    if (!outcome.ok) return lostOr(outcome)
    return {
      key: payment.key,
      state: 'settling',
      fence: fence + 2,
      payment,
      transaction: rejected?.transaction ?? null,
      answer: rejected?.answer ?? null,
      leaseUntilMs: set.lease.untilMs,
      leaseOwner: this.#owner,
    }
  }

  /** Holds the row for the next step. */
  async hold(row: PaymentRow, to: PaymentState, transaction: string | null = null): Promise<PaymentRow | null> {
    const lease = this.#lease()
    const set = transaction === null ? { lease } : { lease, transaction }
    const outcome = await this.#commit([this.#move(row.key, row.state, to, row.fence, set)])
    if (!outcome.ok) return lostOr(outcome)
    const fence = row.fence + 1
    const [leaseUntilMs, leaseOwner] = [lease.untilMs, lease.owner]
    return { ...row, state: to, fence, transaction: transaction ?? row.transaction, leaseUntilMs, leaseOwner }
  }

  /** Leaves a payment with unknown outcome to the next driver. */
  async release(row: PaymentRow): Promise<void> {
    await this.#end(row, 'unknown', {})
  }

  async reject(row: PaymentRow, reason: PaymentReason): Promise<void> {
    await this.#end(row, 'rejected', { answer: JSON.stringify({ refused: reason }) })
  }

  async expire(row: PaymentRow): Promise<void> {
    await this.#end(row, 'expired', {})
  }

  /** Ends the payment and credits its payer in one unit of work. Does nothing if another process was faster. */
  async credit(row: PaymentRow | null, payment: SignedPayment, landing: Landing): Promise<void> {
    const wallet = payerOf(payment)
    const linked = await this.#wallets.find(wallet)
    const account = linked ?? walletAccountId(wallet)
    const atMs = this.#clock.now()
    const outcome = await this.#commit([
      this.#move(payment.key, row?.state ?? null, 'credited', row?.fence ?? 0, {
        ...factsOf(payment),
        amount: landing.amount,
        transaction: landing.transaction,
        answer: JSON.stringify(answerFacts(payment, landing)),
        lease: null,
      }),
      ...(linked === null ? openWalletAccount(wallet, atMs) : []),
      { op: 'credit', account, amount: landing.amount, source: 'system:usdc', ref: creditRef(payment.key), atMs },
    ])
    if (outcome.ok) return
    // The wallet was moved to another account in the meantime, so the credit belongs there.
    if (outcome.why === 'wallet_taken') return this.credit(row, payment, landing)
    lostOr(outcome)
  }

  /** Returns the stored answer of a credited payment. */
  async answerOf(row: PaymentRow): Promise<TopUpAnswer> {
    const facts: CreditedAnswer = JSON.parse(row.answer ?? '')
    const entry = await this.#store.read
      .selectFrom('entry')
      .select(['amount', 'posted_after'])
      .where('ref', '=', creditRef(row.key))
      .executeTakeFirstOrThrow()
    const body: TopUpResult = {
      success: true,
      data: {
        walletAddress: facts.walletAddress,
        amountCredited: toUsdNumber(entry.amount),
        newBalance: toUsdNumber(microUsd(entry.posted_after)),
        paymentId: facts.paymentId,
      },
    }
    return { body: JSON.stringify(body), settlement: facts.settlement }
  }

  #rows() {
    return this.#store.read
      .selectFrom('payment')
      .select(['id', 'state', 'fence', 'payload', 'transaction_id', 'answer', 'lease_until_ms', 'lease_owner'])
  }

  #lease() {
    return { owner: this.#owner, untilMs: this.#clock.now() + leaseMs }
  }

  #move(key: string, from: PaymentState | null, to: PaymentState, fence: number, set: PaymentFields): Op {
    return { op: 'payment', payment: key, from, to, fence, set, atMs: this.#clock.now() }
  }

  async #end(row: PaymentRow, to: PaymentState, set: PaymentFields): Promise<void> {
    const outcome = await this.#commit([this.#move(row.key, row.state, to, row.fence, { ...set, lease: null })])
    if (!outcome.ok) lostOr(outcome)
  }

  async #commit(ops: readonly Op[]): Promise<Outcome> {
    const [outcome] = await this.#store.commit([{ id: uuidV7(this.#clock.now()), ops }])
    if (!outcome) throw new Error('The store returned no outcome.')
    return outcome
  }
}

interface StoredRow {
  id: string
  state: PaymentState
  fence: number
  payload: string | null
  transaction_id: string | null
  answer: string | null
  lease_until_ms: number | null
  lease_owner: string | null
}

const readRow = (row: StoredRow): PaymentRow => ({
  key: row.id,
  state: row.state,
  fence: row.fence,
  payment: readStoredPayment(row.payload ?? ''),
  transaction: row.transaction_id,
  answer: row.answer,
  leaseUntilMs: row.lease_until_ms,
  leaseOwner: row.lease_owner,
})

/** One unreadable row must not keep the others from being finished. */
function readRowOrNull(row: StoredRow): PaymentRow | null {
  try {
    return readRow(row)
  } catch {
    return null
  }
}

/** Returns why a rejected payment was rejected; a new attempt is judged again. */
export const refusalOf = (row: PaymentRow): PaymentReason =>
  (JSON.parse(row.answer ?? '') as { refused: PaymentReason }).refused

function factsOf(payment: SignedPayment): PaymentFields {
  const validBeforeSeconds = validBeforeSecondsOf(payment)
  return {
    network: payment.option.network,
    payer: payerOf(payment),
    amount: amountOf(payment),
    payload: storePayment(payment),
    ...(validBeforeSeconds === undefined ? {} : { validBeforeSeconds }),
  }
}

const answerFacts = (payment: SignedPayment, landing: Landing): CreditedAnswer => ({
  walletAddress: payerOf(payment),
  paymentId: paymentIdOf(payment.key),
  settlement: {
    success: true,
    network: payment.option.network,
    payer: payerOf(payment),
    transaction: landing.transaction,
  },
})

/** Returns null if another process moved the payment first. Any other refusal is our own bug. */
function lostOr(outcome: Extract<Outcome, { ok: false }>): null {
  if (['payment_exists', 'payment_moved', 'ref_exists'].includes(outcome.why)) return null
  throw new Error(`The ledger refused to move a payment: ${outcome.why}.`)
}
