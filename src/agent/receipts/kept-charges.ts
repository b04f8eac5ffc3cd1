import type { ChargeReceipt } from '#toolkit/tool-context.ts'
import { openState } from '#wallet/records/state.ts'
import { chargeReceipt } from './charge-receipt.ts'
import { ReceiptRows } from './receipt-rows.ts'

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
