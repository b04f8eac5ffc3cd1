import { dayMs } from '#contract/time.ts'
import type { Spending, SpentOn } from '#pages/wallet/wire.ts'
import type { Payment } from '#wallet/records/journal.ts'
import type { KeptCharge } from './receipt-rows.ts'

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
    byModel.add(of.model ?? 'not known', amount, charge.kind)
    byTool.add(of.tool ?? 'not by a tool', amount, charge.kind)
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
