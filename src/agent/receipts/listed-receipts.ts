import type { Payment } from '#wallet/records/journal.ts'
import type { Transfer } from '#wallet/records/transfer-rows.ts'
import { keptReceipts } from '../bounds.ts'
import { openAgentState } from '../state/schema.ts'
import { type KeptCharge, keptCharge, ReceiptRows } from './receipt-rows.ts'

/** A payment, a transfer or a stored charge, as they are listed together. */
export interface ListedReceipt {
  kind: 'top-up' | 'send' | 'charge' | 'refund'
  atMs: number
  amount: bigint | null
  /** A payment's state in the journal, or the result of the checks on a charge's receipt. */
  state: string
  service: string
  id: string
  what: string
  usage: string
  model: string | null
  tool: string | null
  transaction: string | null
  problem: string | null
  /** The receipt as the service signed it. */
  receipt: string | null
  whole: Payment | Transfer | KeptCharge
}

const listedPayment = (payment: Payment): ListedReceipt => ({
  kind: 'top-up',
  atMs: payment.createdAtMs,
  amount: payment.amountMicroUsd,
  state: payment.state,
  service: payment.origin,
  id: payment.id,
  what: payment.purpose,
  usage: '',
  model: null,
  tool: null,
  transaction: payment.transaction,
  problem: payment.reason,
  receipt: null,
  whole: payment,
})

const listedTransfer = (transfer: Transfer): ListedReceipt => ({
  kind: 'send',
  atMs: transfer.createdAtMs,
  amount: transfer.amountMicroUsd,
  state: transfer.state,
  service: '',
  id: transfer.id,
  what: `to ${transfer.payTo}`,
  usage: '',
  model: null,
  tool: null,
  transaction: transfer.transaction,
  problem: transfer.reason,
  receipt: null,
  whole: transfer,
})

const listedCharge = (kept: KeptCharge): ListedReceipt => ({
  ...{ kind: kept.kind, atMs: kept.atMs, amount: kept.amountMicroUsd, state: kept.state, service: kept.service },
  ...{ id: kept.id, what: kept.what ?? kept.model ?? '', model: kept.model, tool: kept.tool, transaction: null },
  usage: kept.usage.map(({ sku, units }) => `${units} ${sku}`).join(', '),
  ...{ problem: kept.problem, receipt: kept.receipt, whole: kept },
})

/** Merges all of them, newest first. */
export const newestFirst = (
  payments: readonly Payment[],
  charges: readonly KeptCharge[],
  transfers: readonly Transfer[],
): ListedReceipt[] =>
  [...payments.map(listedPayment), ...transfers.map(listedTransfer), ...charges.map(listedCharge)].sort(
    (one, other) => other.atMs - one.atMs,
  )

/**
 * The stored charges of a folder, cached for a page that polls: a receipt is parsed once, and again only when a check
 * has changed its row.
 */
export class KeptCharges {
  readonly #folder: string
  #known = new Map<string, KeptCharge>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Newest first; includes all that are stored for one service. */
  list(): KeptCharge[] {
    const state = openAgentState(this.#folder)
    try {
      const rows = new ReceiptRows(state).list(keptReceipts)
      const entries = rows.map(row => {
        const key = JSON.stringify([row.service, row.id, row.state, row.problem])
        return [key, this.#known.get(key) ?? keptCharge(row)] as const
      })
      this.#known = new Map(entries)
      return entries.map(([, charge]) => charge)
    } finally {
      state.close()
    }
  }
}
