import { dayMs } from '#contract/time.ts'
import type { Spending, SpentOn } from '#pages/wallet/wire.ts'
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

interface Period {
  /** Today and the days before it. */
  days: number
  nowMs: number
}

/**
 * Charges less refunds of the last days in UTC, and the payments of those days. A refund counts on its own day, for its
 * charge's model and tool. `isCut`: older rows were left out.
 */
export function spendingOf(
  charges: readonly KeptCharge[],
  payments: readonly Payment[],
  { days, nowMs }: Period,
  isCut: { charges: boolean; payments: boolean },
): Spending {
  const names = lastDays(days, nowMs)
  const fromMs = Date.parse(names[0] ?? '')
  const isInside = (atMs: number) => atMs >= fromMs && atMs < fromMs + days * dayMs
  const ofCharges = new Map(charges.map(charge => [`${charge.service} ${charge.id}`, charge]))
  const counted = charges.filter(({ atMs }) => isInside(atMs))
  const [spent, paid] = [new Map<string, bigint>(), new Map<string, bigint>()]
  const [byModel, byTool] = [new Sums(), new Sums()]
  let total = 0n
  for (const charge of counted) {
    const amount = signedAmount(charge)
    if (amount === null) continue
    const of = charge.kind === 'refund' ? (ofCharges.get(chargeOf(charge)) ?? charge) : charge
    total += amount
    add(spent, utcDay(charge.atMs), amount)
    byModel.add(of.model ?? 'unknown', amount, charge.kind)
    byTool.add(of.tool ?? 'no tool', amount, charge.kind)
  }
  const confirmed = payments.flatMap(({ state, confirmedAtMs, amountMicroUsd }) =>
    state === 'confirmed' && confirmedAtMs !== null && isInside(confirmedAtMs)
      ? [{ confirmedAtMs, amountMicroUsd }]
      : [],
  )
  for (const { confirmedAtMs, amountMicroUsd } of confirmed) add(paid, utcDay(confirmedAtMs), amountMicroUsd)
  const areOldest = (rows: readonly number[]) => Math.min(...rows) >= fromMs
  return {
    days,
    total: `${total}`,
    paid: `${confirmed.reduce((sum, { amountMicroUsd }) => sum + amountMicroUsd, 0n)}`,
    charges: counted.filter(({ kind }) => kind === 'charge').length,
    unknown: counted.filter(({ amountMicroUsd }) => amountMicroUsd === null).length,
    isPartial:
      (isCut.charges && areOldest(charges.map(({ atMs }) => atMs))) ||
      (isCut.payments && areOldest(payments.map(({ createdAtMs }) => createdAtMs))),
    byDay: names.map(day => ({ day, spent: `${spent.get(day) ?? 0n}`, paid: `${paid.get(day) ?? 0n}` })),
    byModel: byModel.list(),
    byTool: byTool.list(),
  }
}

/** `2026-11-23` */
const utcDay = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)

/** The oldest first. */
const lastDays = (days: number, nowMs: number): string[] =>
  Array.from({ length: days }, (_, index) => utcDay(nowMs - (days - 1 - index) * dayMs))

const signedAmount = ({ kind, amountMicroUsd }: KeptCharge): bigint | null =>
  amountMicroUsd === null ? null : kind === 'refund' ? -amountMicroUsd : amountMicroUsd

/** A refund's row is named for the same request. */
const chargeOf = ({ service, id }: KeptCharge): string => `${service} ${id.replace(/^refund:/, 'charge:')}`

const add = (sums: Map<string, bigint>, name: string, amount: bigint): void => {
  sums.set(name, (sums.get(name) ?? 0n) + amount)
}

class Sums {
  readonly #sums = new Map<string, { spent: bigint; charges: number }>()

  add(name: string, amount: bigint, kind: KeptCharge['kind']): void {
    const { spent, charges } = this.#sums.get(name) ?? { spent: 0n, charges: 0 }
    this.#sums.set(name, { spent: spent + amount, charges: charges + (kind === 'charge' ? 1 : 0) })
  }

  list(): SpentOn[] {
    const rows = [...this.#sums].sort(([one, a], [other, b]) =>
      a.spent === b.spent ? (one < other ? -1 : 1) : a.spent > b.spent ? -1 : 1,
    )
    return rows.map(([name, { spent, charges }]) => ({ name, spent: `${spent}`, charges }))
  }
}
