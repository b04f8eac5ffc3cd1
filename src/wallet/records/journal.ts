import { type MicroUsd, microUsd } from '#contract/money.ts'
import { capWindowMs, maxListed } from '../limits.ts'
import type { Order, Payee, SignedPayment, Spent } from '../terms/order.ts'
import { all, change, first, type Row, type Work } from './records.ts'
import { numberOrNull, type PaymentState, placesOf, stateRows, textOrNull, usdOrNull } from './state-rows.ts'

const { note, step, wrongStep } = stateRows({ table: 'payments', noun: 'payment', hasUpdateTime: true })

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
  /** After this time the chain no longer accepts it; an estimate on Solana. */
  validBeforeMs: number | null
  /** On Solana, the last block height that may contain it. Null on the other rail, and until it is signed. */
  lastValidBlockHeight: number | null
  memo: string | null
  sends: number
  /** The service's last answer was a rejection. */
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

// Each function below makes one step of one row, inside the caller's decision; an invalid step throws and changes
// nothing.

export function* plan({ id, order, payee, address, amountMicroUsd }: PlannedPayment, nowMs: number): Work<void> {
  yield* change(
    `INSERT INTO payments (id, state, counts, occasion, purpose, address, origin, network, asset, pay_to,
       amount_micro_usd, created_at_ms, updated_at_ms)
     VALUES (?, 'planned', 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, order.occasion, order.purpose, address, payee.origin, payee.network, payee.asset, payee.payTo],
    ...[amountMicroUsd, nowMs, nowMs],
  )
  yield* note(id, 'planned', null, nowMs)
}

/** The bytes are stored before they are sent anywhere. */
export function* toSigned(id: string, signed: SignedPayment, nowMs: number): Work<void> {
  const { nonce, validBeforeMs, payload, chainLife } = signed
  yield* change(
    'UPDATE payments SET nonce = ?, valid_before_ms = ?, last_valid_height = ?, memo = ?, payload = ? WHERE id = ?',
    ...[nonce, validBeforeMs, chainLife?.lastValidBlockHeight ?? null, chainLife?.memo ?? null, payload, id],
  )
  yield* step(id, ['planned'], 'signed', null, nowMs)
}

export function* toSent(id: string, nowMs: number): Work<void> {
  yield* step(id, ['signed', 'sent', 'unknown'], 'sent', null, nowMs)
  yield* change('UPDATE payments SET sends = sends + 1 WHERE id = ?', id)
}

/** There was no answer, or a rejection with which the chain may disagree. */
export function* toUnknown(id: string, reason: string, isRejected: boolean, nowMs: number): Work<void> {
  yield* step(id, ['sent'], 'unknown', reason, nowMs)
  yield* change('UPDATE payments SET rejected = ? WHERE id = ?', isRejected ? 1 : 0, id)
}

export interface Confirmation {
  creditedMicroUsd: MicroUsd
  balanceMicroUsd: MicroUsd
  transaction: string | null
}

export function* toConfirmed(id: string, confirmation: Confirmation, nowMs: number): Work<void> {
  const { creditedMicroUsd, balanceMicroUsd, transaction } = confirmation
  // A payment that was given up but is credited after all has been spent, so it counts.
  yield* change('UPDATE payments SET counts = 1 WHERE id = ?', id)
  yield* step(id, ['sent', 'unknown', 'dead'], 'confirmed', null, nowMs)
  yield* change(
    `UPDATE payments SET rejected = 0, confirmed_at_ms = ?, credited_micro_usd = ?, balance_micro_usd = ?,
       transaction_hash = ?, payload = NULL WHERE id = ?`,
    ...[nowMs, creditedMicroUsd, balanceMicroUsd, transaction, id],
  )
}

/** `counts` stays set if only the service says that nothing was taken, so that a false report gains no budget. */
export function* toDead(id: string, reason: string, counts: boolean, nowMs: number): Work<void> {
  yield* step(id, ['planned', 'unknown'], 'dead', reason, nowMs)
  yield* change('UPDATE payments SET counts = ?, payload = NULL WHERE id = ?', counts ? 1 : 0, id)
}

const resolvedBy = 'resolved by '

/** As the user reports it, for an outcome that cannot be found out otherwise. */
export function* toResolved(id: string, counts: boolean, by: string, nowMs: number): Work<void> {
  yield* step(id, ['unknown', 'dead'], 'dead', `${resolvedBy}${by}`, nowMs)
  yield* change('UPDATE payments SET counts = ?, payload = NULL WHERE id = ?', counts ? 1 : 0, id)
}

/** The latest time at which a payment can have been taken, which may be minutes after it was planned. */
const takenAt = 'coalesce(confirmed_at_ms, valid_before_ms, created_at_ms)'

/**
 * What the caps count. Setting the clock back gains nothing: a row from the future counts as of today. The payment
 * `exceptId` does not count as the last one.
 */
export function* spentOf(nowMs: number, exceptId: string | null = null): Work<Spent> {
  const day = yield* first(
    `SELECT coalesce(sum(amount_micro_usd), 0) AS amount, min(${takenAt}) AS oldest FROM payments
     WHERE counts = 1 AND (${takenAt} > ? OR state IN ('planned', 'signed', 'sent', 'unknown'))`,
    nowMs - capWindowMs,
  )
  const total = yield* first('SELECT coalesce(sum(amount_micro_usd), 0) AS amount FROM payments WHERE counts = 1')
  const last = yield* first(
    `SELECT max(confirmed_at_ms) AS at FROM payments WHERE state = 'confirmed' AND id <> ?`,
    exceptId ?? '',
  )
  return {
    dayMicroUsd: BigInt(Number(day?.amount)),
    totalMicroUsd: BigInt(Number(total?.amount)),
    oldestOfDayAtMs: numberOrNull(day?.oldest),
    lastPaymentAtMs: numberOrNull(last?.at),
  }
}

/**
 * The part of the counted sums, in 24 hours and in total, whose payments are not confirmed: open, or refused and not
 * checked on the chain.
 */
export function* reservedOf(nowMs: number): Work<{ dayMicroUsd: MicroUsd; totalMicroUsd: MicroUsd }> {
  const row = yield* first(
    `SELECT coalesce(sum(amount_micro_usd), 0) AS total,
       coalesce(sum(CASE WHEN ${takenAt} > ? OR state <> 'dead' THEN amount_micro_usd ELSE 0 END), 0) AS day
     FROM payments WHERE counts = 1 AND state <> 'confirmed' AND NOT (state = 'dead' AND reason LIKE ?)`,
    ...[nowMs - capWindowMs, `${resolvedBy}%`],
  )
  return { dayMicroUsd: microUsd(Number(row?.day)), totalMicroUsd: microUsd(Number(row?.total)) }
}

export function* findPayment(id: string): Work<Payment | null> {
  return readOrNull(yield* first('SELECT * FROM payments WHERE id = ?', id))
}

export function* paymentOf(id: string): Work<Payment> {
  const payment = yield* findPayment(id)
  if (payment) return payment
  throw wrongStep(id)
}

/** Returns payments that may still move money, oldest first. */
export function* openPayments(addresses: readonly string[]): Work<Payment[]> {
  const rows = yield* all(
    `SELECT * FROM payments WHERE address IN (${placesOf(addresses)}) AND state IN ('planned', 'signed', 'sent', 'unknown')
     ORDER BY created_at_ms, rowid LIMIT ?`,
    ...[...addresses, maxListed],
  )
  return rows.map(read)
}

/**
 * Returns payments that were given up after the service's rejection. They count until the user has resolved them;
 * oldest first.
 */
export function* heldPayments(): Work<Payment[]> {
  const rows = yield* all(
    `SELECT * FROM payments WHERE state = 'dead' AND counts = 1 AND reason NOT LIKE ?
     ORDER BY created_at_ms, rowid LIMIT ?`,
    ...[`${resolvedBy}%`, maxListed],
  )
  return rows.map(read)
}

/** Returns the last confirmed payment to a service at or after a time. */
export function* confirmedSince(
  address: string,
  origin: string,
  atMs: number,
  exceptId: string | null = null,
): Work<Payment | null> {
  const row = yield* first(
    `SELECT * FROM payments WHERE state = 'confirmed' AND address = ? AND origin = ? AND confirmed_at_ms >= ? AND id <> ?
     ORDER BY confirmed_at_ms DESC LIMIT 1`,
    ...[address, origin, atMs, exceptId ?? ''],
  )
  return readOrNull(row)
}

export function* lastRefill(address: string, origin: string): Work<Payment | null> {
  const row = yield* first(
    `SELECT * FROM payments WHERE state = 'confirmed' AND occasion = 'refill' AND address = ? AND origin = ?
     ORDER BY confirmed_at_ms DESC LIMIT 1`,
    ...[address, origin],
  )
  return readOrNull(row)
}

/** Returns the last confirmed top-up of an amount that was requested at or after a time. */
export function* askedSince(
  { address, origin, amountMicroUsd }: Pick<Payment, 'address' | 'origin' | 'amountMicroUsd'>,
  atMs: number,
): Work<Payment | null> {
  const row = yield* first(
    `SELECT * FROM payments WHERE state = 'confirmed' AND occasion = 'asked' AND address = ? AND origin = ?
       AND amount_micro_usd = ? AND confirmed_at_ms >= ?
     ORDER BY confirmed_at_ms DESC LIMIT 1`,
    ...[address, origin, amountMicroUsd, atMs],
  )
  return readOrNull(row)
}

/**
 * Of these addresses, returns the one whose payment to a service was made last or is in flight; null if there is no
 * such payment.
 */
export function* lastPayer(addresses: readonly string[], origin: string): Work<string | null> {
  const row = yield* first(
    `SELECT address FROM payments WHERE origin = ? AND state <> 'dead' AND address IN (${placesOf(addresses)})
     ORDER BY created_at_ms DESC, id DESC LIMIT 1`,
    ...[origin, ...addresses],
  )
  return row ? String(row.address) : null
}

/** Newest first. */
export function* listPayments(limit: number): Work<Payment[]> {
  const most = Math.min(limit, maxListed)
  return (yield* all('SELECT * FROM payments ORDER BY created_at_ms DESC, rowid DESC LIMIT ?', most)).map(read)
}

/** Returns the stored header of an open payment; read only for sending. */
export function* payloadOf(id: string): Work<string> {
  const payload = (yield* first('SELECT payload FROM payments WHERE id = ?', id))?.payload
  if (typeof payload === 'string') return payload
  throw wrongStep(id)
}

const readOrNull = (row: Row | undefined): Payment | null => (row ? read(row) : null)

function read(row: Row): Payment {
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
    lastValidBlockHeight: numberOrNull(row.last_valid_height),
    memo: textOrNull(row.memo),
    sends: Number(row.sends),
    isRejected: row.rejected === 1,
    reason: textOrNull(row.reason),
    confirmedAtMs: numberOrNull(row.confirmed_at_ms),
    creditedMicroUsd: usdOrNull(row.credited_micro_usd),
    balanceMicroUsd: usdOrNull(row.balance_micro_usd),
    transaction: textOrNull(row.transaction_hash),
  }
}
