import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import type { Spent } from './decide.ts'
import type { SignedPayment } from './evm-exact.ts'
import { dayMs, maxListed, maxReasonLength } from './limits.ts'
import type { Order } from './order.ts'
import type { Payee } from './policy.ts'
import { WalletRefusal } from './refusal.ts'

/** `unknown` is a state and no error: the same bytes are sent again until they are answered or can no longer count. */
export type PaymentState = 'planned' | 'signed' | 'sent' | 'unknown' | 'confirmed' | 'dead'

/** A row of the journal without its signed bytes. */
export interface Payment extends Payee {
  id: string
  state: PaymentState
  /** Whether it counts against the caps. */
  counts: boolean
  occasion: Order['occasion']
  purpose: string
  address: string
  amountMicroUsd: MicroUsd
  createdAtMs: number
  updatedAtMs: number
  nonce: string | null
  /** After this the chain takes it no more. */
  validBeforeMs: number | null
  sends: number
  /** The service's last answer was a no. */
  isRejected: boolean
  reason: string | null
  confirmedAtMs: number | null
  creditedMicroUsd: MicroUsd | null
  balanceMicroUsd: MicroUsd | null
  transaction: string | null
}

export interface PlannedPayment {
  id: string
  order: Order
  payee: Payee
  address: string
  amountMicroUsd: MicroUsd
}

/** Every function below is one step of one row, inside the caller's transaction; a wrong step throws and changes nothing. */
export function plan(db: DatabaseSync, { id, order, payee, address, amountMicroUsd }: PlannedPayment, nowMs: number) {
  db.prepare(
    `INSERT INTO payments (id, state, counts, occasion, purpose, address, origin, network, asset, pay_to,
       amount_micro_usd, created_at_ms, updated_at_ms)
     VALUES (?, 'planned', 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    id,
    order.occasion,
    order.purpose,
    address,
    payee.origin,
    payee.network,
    payee.asset,
    payee.payTo,
    amountMicroUsd,
    nowMs,
    nowMs,
  )
  note(db, id, 'planned', null, nowMs)
}

/** The bytes are on disk before anybody else has seen them. */
export function toSigned(db: DatabaseSync, id: string, signed: SignedPayment, nowMs: number): void {
  db.prepare('UPDATE payments SET nonce = ?, valid_before_ms = ?, payload = ? WHERE id = ?').run(
    signed.nonce,
    signed.validBeforeMs,
    signed.payload,
    id,
  )
  step(db, id, ['planned'], 'signed', null, nowMs)
}

export function toSent(db: DatabaseSync, id: string, nowMs: number): void {
  step(db, id, ['signed', 'sent', 'unknown'], 'sent', null, nowMs)
  db.prepare('UPDATE payments SET sends = sends + 1 WHERE id = ?').run(id)
}

/** No answer, or a no that the chain need not share. */
export function toUnknown(db: DatabaseSync, id: string, reason: string, isRejected: boolean, nowMs: number): void {
  step(db, id, ['sent'], 'unknown', reason, nowMs)
  db.prepare('UPDATE payments SET rejected = ? WHERE id = ?').run(isRejected ? 1 : 0, id)
}

export interface Confirmation {
  creditedMicroUsd: MicroUsd
  balanceMicroUsd: MicroUsd
  transaction: string | null
}

export function toConfirmed(db: DatabaseSync, id: string, confirmation: Confirmation, nowMs: number): void {
  // A payment that was given up and is credited after all has been spent: what happened wins.
  db.prepare('UPDATE payments SET counts = 1 WHERE id = ?').run(id)
  step(db, id, ['sent', 'unknown', 'dead'], 'confirmed', null, nowMs)
  db.prepare(
    `UPDATE payments SET rejected = 0, confirmed_at_ms = ?, credited_micro_usd = ?, balance_micro_usd = ?,
       transaction_hash = ?, payload = NULL WHERE id = ?`,
  ).run(nowMs, confirmation.creditedMicroUsd, confirmation.balanceMicroUsd, confirmation.transaction, id)
}

/** `counts` stays where only the service's word says that nothing was taken: a service that lies gains no budget by it. */
export function toDead(db: DatabaseSync, id: string, reason: string, counts: boolean, nowMs: number): void {
  step(db, id, ['planned', 'unknown'], 'dead', reason, nowMs)
  db.prepare('UPDATE payments SET counts = ?, payload = NULL WHERE id = ?').run(counts ? 1 : 0, id)
}

const resolvedBy = 'resolved by '

/** By a person's word, for an outcome that nobody else can tell. */
export function toResolved(db: DatabaseSync, id: string, counts: boolean, by: string, nowMs: number): void {
  step(db, id, ['unknown', 'dead'], 'dead', `${resolvedBy}${by}`, nowMs)
  db.prepare('UPDATE payments SET counts = ?, payload = NULL WHERE id = ?').run(counts ? 1 : 0, id)
}

/** When a payment can last have been taken, which may be minutes after it was planned. */
const takenAt = 'coalesce(confirmed_at_ms, valid_before_ms, created_at_ms)'

/** What the caps see. The clock set back gains nothing: a row of the future is of today. */
export function spentOf(db: DatabaseSync, nowMs: number): Spent {
  const day = db
    .prepare(
      `SELECT coalesce(sum(amount_micro_usd), 0) AS amount, min(${takenAt}) AS oldest FROM payments
       WHERE counts = 1 AND (${takenAt} > ? OR state IN ('planned', 'signed', 'sent', 'unknown'))`,
    )
    .get(nowMs - dayMs)
  const total = db.prepare('SELECT coalesce(sum(amount_micro_usd), 0) AS amount FROM payments WHERE counts = 1').get()
  const last = db.prepare(`SELECT max(confirmed_at_ms) AS at FROM payments WHERE state = 'confirmed'`).get()
  return {
    dayMicroUsd: BigInt(Number(day?.amount)),
    totalMicroUsd: BigInt(Number(total?.amount)),
    oldestOfDayAtMs: numberOrNull(day?.oldest),
    lastPaymentAtMs: numberOrNull(last?.at),
  }
}

export const findPayment = (db: DatabaseSync, id: string): Payment | null => {
  const row = db.prepare('SELECT * FROM payments WHERE id = ?').get(id)
  return row ? read(row) : null
}

export function paymentOf(db: DatabaseSync, id: string): Payment {
  const payment = findPayment(db, id)
  if (payment) return payment
  throw wrongStep(id)
}

/** Those that may still move money or do so again, oldest first. */
export const openPayments = (db: DatabaseSync, address: string): Payment[] =>
  db
    .prepare(
      `SELECT * FROM payments WHERE address = ? AND state IN ('planned', 'signed', 'sent', 'unknown')
       ORDER BY created_at_ms, rowid LIMIT ?`,
    )
    .all(address, maxListed)
    .map(read)

/** Given up after the service's no, and counted until a person has told their fate; oldest first. */
export const heldPayments = (db: DatabaseSync): Payment[] =>
  db
    .prepare(
      `SELECT * FROM payments WHERE state = 'dead' AND counts = 1 AND reason NOT LIKE ? || '%'
       ORDER BY created_at_ms, rowid LIMIT ?`,
    )
    .all(resolvedBy, maxListed)
    .map(read)

/** The last confirmed payment to a service at or after a time. */
export function confirmedSince(db: DatabaseSync, address: string, origin: string, atMs: number): Payment | null {
  const row = db
    .prepare(
      `SELECT * FROM payments WHERE state = 'confirmed' AND address = ? AND origin = ? AND confirmed_at_ms >= ?
       ORDER BY confirmed_at_ms DESC LIMIT 1`,
    )
    .get(address, origin, atMs)
  return row ? read(row) : null
}

/** The last confirmed payment of an amount that somebody asked for, at or after a time. */
export function askedSince(
  db: DatabaseSync,
  { address, origin, amountMicroUsd }: Pick<Payment, 'address' | 'origin' | 'amountMicroUsd'>,
  atMs: number,
): Payment | null {
  const row = db
    .prepare(
      `SELECT * FROM payments WHERE state = 'confirmed' AND occasion = 'asked' AND address = ? AND origin = ?
         AND amount_micro_usd = ? AND confirmed_at_ms >= ?
       ORDER BY confirmed_at_ms DESC LIMIT 1`,
    )
    .get(address, origin, amountMicroUsd, atMs)
  return row ? read(row) : null
}

/** Newest first. */
export const listPayments = (db: DatabaseSync, limit: number): Payment[] =>
  db
    .prepare('SELECT * FROM payments ORDER BY created_at_ms DESC, rowid DESC LIMIT ?')
    .all(Math.min(limit, maxListed))
    .map(read)

/** The stored header of an open payment; read only to be sent. */
export function payloadOf(db: DatabaseSync, id: string): string {
  const payload = db.prepare('SELECT payload FROM payments WHERE id = ?').get(id)?.payload
  if (typeof payload === 'string') return payload
  throw wrongStep(id)
}

function step(
  db: DatabaseSync,
  id: string,
  from: readonly PaymentState[],
  to: PaymentState,
  why: string | null,
  nowMs: number,
): void {
  const places = from.map(() => '?').join(', ')
  const reason = why?.slice(0, maxReasonLength) ?? null
  const { changes } = db
    .prepare(`UPDATE payments SET state = ?, reason = ?, updated_at_ms = ? WHERE id = ? AND state IN (${places})`)
    .run(to, reason, nowMs, id, ...from)
  if (changes !== 1) throw wrongStep(id)
  note(db, id, to, reason, nowMs)
}

const note = (db: DatabaseSync, id: string, state: PaymentState, why: string | null, nowMs: number): void => {
  db.prepare('INSERT INTO payment_steps (payment_id, at_ms, state, note) VALUES (?, ?, ?, ?)').run(
    id,
    nowMs,
    state,
    why,
  )
}

const wrongStep = (id: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'state',
    sentence: `The payment ${id} is not where this step begins; another process has moved it.`,
    nextStep: 'Look at `farebox wallet receipts`, then try again.',
  })

const numberOrNull = (value: SQLOutputValue | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)
const textOrNull = (value: SQLOutputValue | undefined): string | null => (typeof value === 'string' ? value : null)
const usdOrNull = (value: SQLOutputValue | undefined): MicroUsd | null =>
  value === null || value === undefined ? null : microUsd(Number(value))

function read(row: Record<string, SQLOutputValue>): Payment {
  return {
    id: String(row.id),
    state: row.state as PaymentState,
    counts: row.counts === 1,
    occasion: row.occasion as Order['occasion'],
    purpose: String(row.purpose),
    address: String(row.address),
    origin: String(row.origin),
    network: String(row.network),
    asset: String(row.asset),
    payTo: String(row.pay_to),
    amountMicroUsd: microUsd(Number(row.amount_micro_usd)),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
    nonce: textOrNull(row.nonce),
    validBeforeMs: numberOrNull(row.valid_before_ms),
    sends: Number(row.sends),
    isRejected: row.rejected === 1,
    reason: textOrNull(row.reason),
    confirmedAtMs: numberOrNull(row.confirmed_at_ms),
    creditedMicroUsd: usdOrNull(row.credited_micro_usd),
    balanceMicroUsd: usdOrNull(row.balance_micro_usd),
    transaction: textOrNull(row.transaction_hash),
  }
}
