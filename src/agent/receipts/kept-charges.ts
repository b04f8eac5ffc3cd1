import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { ChargeReceipt } from '#toolkit/tool-context.ts'
import { readReceipt } from '#wallet/receipts.ts'
import { openState } from '#wallet/records/state.ts'
import { kindOf, type ReceiptRow, ReceiptRows } from './receipt-rows.ts'

/** A kept charge for its owner's own books: with who charged it, and the receipt as it was signed. */
export interface KeptCharge extends ChargeReceipt {
  /** Base URL of the service. */
  service: string
  /** Null where the service sent none. */
  receipt: string | null
}

/** Of a state folder, newest first; nobody is asked anything. */
export function keptCharges(folder: string, limit: number): KeptCharge[] {
  const state = openState(folder)
  try {
    const rows = new ReceiptRows(state).list(limit)
    return rows.map(row => ({ ...chargeReceipt(row), service: row.service, receipt: row.receipt }))
  } finally {
    state.close()
  }
}

/** A kept receipt as it is shown: what it says itself, or what the answer said where none came. */
export function chargeReceipt(row: ReceiptRow): ChargeReceipt {
  const claims = row.receipt === null ? null : (readReceipt(row.receipt)?.claims ?? null)
  const said = (text: string | undefined): MicroUsd | null => (text === undefined ? null : microUsd(BigInt(text)))
  return {
    id: row.id,
    kind: kindOf(row),
    atMs: row.atMs,
    state: row.state,
    amountMicroUsd: said(claims?.amount_micro_usd) ?? row.saidMicroUsd,
    stakingMicroUsd: said(claims?.paid_with.diem) ?? zeroUsd,
    what: row.what,
    model: claims?.model ?? row.model,
    usage: claims?.lines.map(({ sku, units }) => ({ sku, units })) ?? [],
    problem: row.problem,
  }
}
