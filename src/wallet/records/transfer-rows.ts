import { type MicroUsd, microUsd } from '#contract/money.ts'
import { maxListed } from '../limits.ts'
import type { Rail, SignedPayment } from '../terms/order.ts'
import { all, change, first, type Row, type Work } from './records.ts'
import { numberOrNull, type PaymentState, placesOf, stateRows, textOrNull } from './state-rows.ts'

const { note, step, wrongStep } = stateRows({ table: 'transfers', noun: 'transfer', hasUpdateTime: false })

/**
 * Money that the owner has sent out of the wallet, to any address. It has the same states as a payment, and counts
 * against no cap, because the caps limit what a model may spend.
 */
export interface Transfer extends Rail {
  id: string
  state: PaymentState
  address: string
  payTo: string
  amountMicroUsd: MicroUsd
  /** Who submits it to the chain: the address of a facilitator, `local chain`, or `printed`. */
  settler: string
  by: string
  createdAtMs: number
  nonce: string | null
  /** After this time the chain no longer accepts it; an estimate on Solana. */
  validBeforeMs: number | null
  lastValidBlockHeight: number | null
  memo: string | null
  reason: string | null
  confirmedAtMs: number | null
  transaction: string | null
}

export type PlannedTransfer = Pick<
  Transfer,
  'id' | 'address' | 'network' | 'asset' | 'payTo' | 'amountMicroUsd' | 'settler' | 'by'
>

// Each function below makes one step of one row, inside the caller's decision; an invalid step throws and changes
// nothing.

export function* planTransfer(planned: PlannedTransfer, nowMs: number): Work<void> {
  const { id, address, network, asset, payTo, amountMicroUsd, settler, by } = planned
  yield* change(
    `INSERT INTO transfers (id, state, address, network, asset, pay_to, amount_micro_usd, settler, by_whom, created_at_ms)
     VALUES (?, 'planned', ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, address, network, asset, payTo, amountMicroUsd, settler, by, nowMs],
  )
  yield* note(id, 'planned', null, nowMs)
}

/** The bytes are on disk before anyone else has seen them. */
export function* transferSigned(id: string, signed: SignedPayment, nowMs: number): Work<void> {
  const { nonce, validBeforeMs, payload, chainLife } = signed
  yield* change(
    'UPDATE transfers SET nonce = ?, valid_before_ms = ?, last_valid_height = ?, memo = ?, payload = ? WHERE id = ?',
    ...[nonce, validBeforeMs, chainLife?.lastValidBlockHeight ?? null, chainLife?.memo ?? null, payload, id],
  )
  yield* step(id, ['planned'], 'signed', null, nowMs)
}

/** `settler` is the facilitator that gets it now. */
export function* transferSent(id: string, settler: string, nowMs: number): Work<void> {
  yield* step(id, ['signed', 'sent', 'unknown'], 'sent', null, nowMs)
  yield* change('UPDATE transfers SET settler = ? WHERE id = ?', settler, id)
}

/** Only the chain knows the outcome. Changes nothing if an outcome is already recorded. */
export function* transferUnknown(id: string, reason: string, nowMs: number): Work<void> {
  if ((yield* transferOf(id)).state === 'sent') yield* step(id, ['sent'], 'unknown', reason, nowMs)
}

/** The chain has it. */
export function* transferConfirmed(id: string, transaction: string | null, nowMs: number): Work<void> {
  if ((yield* transferOf(id)).state === 'confirmed') return
  yield* step(id, ['signed', 'sent', 'unknown'], 'confirmed', null, nowMs)
  yield* change(
    'UPDATE transfers SET confirmed_at_ms = ?, transaction_hash = ?, payload = NULL WHERE id = ?',
    ...[nowMs, transaction, id],
  )
}

/** It was never signed, or the chain can no longer accept it. */
export function* transferDead(id: string, reason: string, nowMs: number): Work<void> {
  if ((yield* transferOf(id)).state === 'dead') return
  yield* step(id, ['planned', 'signed', 'sent', 'unknown'], 'dead', reason, nowMs)
  yield* change('UPDATE transfers SET payload = NULL WHERE id = ?', id)
}

export function* transferOf(id: string): Work<Transfer> {
  const row = yield* first('SELECT * FROM transfers WHERE id = ?', id)
  if (row) return read(row)
  throw wrongStep(id)
}

/** Transfers that may still move money, oldest first. */
export function* openTransfers(addresses: readonly string[]): Work<Transfer[]> {
  const rows = yield* all(
    `SELECT * FROM transfers WHERE address IN (${placesOf(addresses)}) AND state IN ('planned', 'signed', 'sent', 'unknown')
     ORDER BY created_at_ms, rowid LIMIT ?`,
    ...[...addresses, maxListed],
  )
  return rows.map(read)
}

/** Newest first. */
export function* listTransfers(limit: number): Work<Transfer[]> {
  const most = Math.min(limit, maxListed)
  return (yield* all('SELECT * FROM transfers ORDER BY created_at_ms DESC, rowid DESC LIMIT ?', most)).map(read)
}

/** Returns the signed bytes of a pending transfer. */
export function* transferPayload(id: string): Work<string> {
  const payload = (yield* first('SELECT payload FROM transfers WHERE id = ?', id))?.payload
  if (typeof payload === 'string') return payload
  throw wrongStep(id)
}

function read(row: Row): Transfer {
  return {
    id: String(row.id),
    state: row.state as PaymentState,
    address: String(row.address),
    network: String(row.network),
    asset: String(row.asset),
    payTo: String(row.pay_to),
    amountMicroUsd: microUsd(Number(row.amount_micro_usd)),
    settler: String(row.settler),
    by: String(row.by_whom),
    createdAtMs: Number(row.created_at_ms),
    nonce: textOrNull(row.nonce),
    validBeforeMs: numberOrNull(row.valid_before_ms),
    lastValidBlockHeight: numberOrNull(row.last_valid_height),
    memo: textOrNull(row.memo),
    reason: textOrNull(row.reason),
    confirmedAtMs: numberOrNull(row.confirmed_at_ms),
    transaction: textOrNull(row.transaction_hash),
  }
}
