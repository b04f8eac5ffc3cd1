import { type MicroUsd, microUsd } from '#contract/money.ts'
import { maxListed, refillShown } from '../limits.ts'
import type { SeenCredit } from '../terms/order.ts'
import { findPayment, lastRefill, type Payment } from './journal.ts'
import { all, change, first, type Row, type Work } from './records.ts'

/** The account, and the service where it has credit. */
export interface RefillPlace {
  origin: string
  address: string
}

/** The state of refilling one account: one row, so one refill at a time for all who share the journal. */
export interface RefillRow extends RefillPlace {
  /** The last refill, until its credit has shown up; null if there is none to wait for. */
  paymentId: string | null
  /** The credit that triggered it. */
  beforeMicroUsd: MicroUsd
  /** Stopped until the user has checked, because a refill did not show up as credit. */
  isHalted: boolean
  /** The next refill is not considered before this time. */
  notBeforeMs: number
  /** Why the last one was not paid, in our words. */
  note: string | null
}

export function* refillRow({ origin, address }: RefillPlace): Work<RefillRow | null> {
  const row = yield* first('SELECT * FROM refills WHERE origin = ? AND address = ?', origin, address)
  return row ? read(row) : null
}

export function* refillRowsOf(origin: string): Work<RefillRow[]> {
  return (yield* all('SELECT * FROM refills WHERE origin = ? ORDER BY address LIMIT ?', origin, maxListed)).map(read)
}

/** Returns the payment whose credit has not shown up yet. */
export function* awaitedRefill({ paymentId }: RefillRow): Work<Payment | null> {
  return paymentId === null ? null : yield* findPayment(paymentId)
}

/** The credit at which a refill counts as shown. */
export const leastShown = ({ beforeMicroUsd }: RefillRow, { amountMicroUsd }: Payment): bigint =>
  beforeMicroUsd + (amountMicroUsd * refillShown.numerator) / refillShown.denominator

/**
 * Returns the id of the last confirmed refill if its credit has been seen, or shows in what the service reports now.
 */
export function* shownRefill(place: RefillPlace, reportedMicroUsd: MicroUsd | null): Work<string | null> {
  const refill = yield* lastRefill(place.address, place.origin)
  const row = refill && (yield* refillRow(place))
  if (!row || row.isHalted) return null
  const isSeen = row.paymentId !== refill.id
  return isSeen || (reportedMicroUsd !== null && reportedMicroUsd >= leastShown(row, refill)) ? refill.id : null
}

/** Until then, only the holder of this turn may refill. */
export function* takeRefillTurn({ origin, address }: RefillPlace, notBeforeMs: number): Work<void> {
  yield* change(
    `INSERT INTO refills (origin, address, not_before_ms) VALUES (?, ?, ?)
     ON CONFLICT (origin, address) DO UPDATE SET not_before_ms = excluded.not_before_ms`,
    ...[origin, address, notBeforeMs],
  )
}

type Seen = Pick<SeenCredit, 'balanceMicroUsd'>

/** Runs in the decision that plans the refill's payment. */
export function* refillPlanned(place: RefillPlace, paymentId: string, seen: Seen): Work<void> {
  const { origin, address } = place
  // If a service claims a negative balance, the refill need not make up for it.
  const before = seen.balanceMicroUsd > 0n ? seen.balanceMicroUsd : 0n
  yield* change(
    `INSERT INTO refills (origin, address, not_before_ms, payment_id, before_micro_usd) VALUES (?, ?, 0, ?, ?)
     ON CONFLICT (origin, address) DO UPDATE
     SET payment_id = excluded.payment_id, before_micro_usd = excluded.before_micro_usd, note = NULL`,
    ...[origin, address, paymentId, before],
  )
}

export function* refillSeen({ origin, address }: RefillPlace): Work<void> {
  yield* change('UPDATE refills SET payment_id = NULL WHERE origin = ? AND address = ?', origin, address)
}

export function* haltRefills({ origin, address }: RefillPlace, note: string): Work<void> {
  yield* change(
    'UPDATE refills SET halted = 1, payment_id = NULL, note = ? WHERE origin = ? AND address = ?',
    ...[note, origin, address],
  )
}

export function* noteRefill({ origin, address }: RefillPlace, note: string, notBeforeMs: number): Work<void> {
  yield* change(
    'UPDATE refills SET note = ?, not_before_ms = ? WHERE origin = ? AND address = ?',
    ...[note, notBeforeMs, origin, address],
  )
}

export function* resumeRefills(): Work<void> {
  yield* change('UPDATE refills SET halted = 0, not_before_ms = 0, note = NULL WHERE halted = 1')
}

const read = (row: Row): RefillRow => ({
  origin: String(row.origin),
  address: String(row.address),
  paymentId: typeof row.payment_id === 'string' ? row.payment_id : null,
  beforeMicroUsd: microUsd(Number(row.before_micro_usd)),
  isHalted: row.halted === 1,
  notBeforeMs: Number(row.not_before_ms),
  note: typeof row.note === 'string' ? row.note : null,
})
