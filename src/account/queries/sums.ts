import { dayMs, textOfDay } from '#contract/time.ts'
import { addedUp, dayRows, keyDayRows, paidOf, type SumRow } from '#ledger/accounts/day-sums.ts'
import type { Store } from '#ledger/store/store.ts'
import type { SpendView, Sums } from '#pages/account/wire.ts'

export type Reading = Pick<Store, 'read'>

/** What a session may see: a whole account, or the requests of one key. It comes from the session, never from a request. */
export interface Scope {
  account: string
  /** Null for the whole account. */
  key: string | null
}

export const shownSums = (row: SumRow): Sums => ({
  requests: row.requests,
  ...{ charged: `${row.charged_usd}`, refunded: `${row.refunded_usd}`, writtenOff: `${row.written_off_usd}` },
  ...{ staking: `${row.staking_usd}`, paid: `${paidOf(row)}` },
  ...{ toppedUp: `${row.topped_up_usd}`, granted: `${row.granted_usd}` },
})

/** Models that have their own colour in the chart; more colours would be hard to tell apart. */
const chartModels = 5
/** Models in the table below it. */
const listedModels = 50

/** What was spent in the last days, today included. */
export async function spend(
  reading: Reading,
  { scope, days }: { scope: Scope; days: number },
  nowMs: number,
): Promise<SpendView> {
  const toMs = nowMs - (nowMs % dayMs) + dayMs
  const range = { fromMs: toMs - days * dayMs, toMs }
  const { account: customer, key } = scope
  const rows = await (key === null ? dayRows(reading, { ...range, customer }) : keyDayRows(reading, { ...range, key }))
  const { totals, byDay, byModel } = addedUp(rows, range)
  const topModels = byModel.slice(0, chartModels).map(({ model }) => model)
  const charges = new Map(
    rows.flatMap(row => (row.kind === 'CHARGE' ? [[`${row.day_ms} ${row.model}`, -row.effect_usd]] : [])),
  )
  return {
    ...{ from: textOfDay(range.fromMs), to: textOfDay(toMs - dayMs), totals: shownSums(totals), topModels },
    byDay: byDay.map(({ day, ...row }, place) => ({
      ...{ day, ...shownSums(row) },
      models: topModels.map(model => `${charges.get(`${range.fromMs + place * dayMs} ${model}`) ?? 0n}`),
    })),
    byModel: byModel.slice(0, listedModels).map(({ model, ...row }) => ({ model, ...shownSums(row) })),
  }
}
