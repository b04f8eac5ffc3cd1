import { sql } from 'kysely'
import { addedUp, dayRows, inFilter, type KindRow, type SumRow, sumsOf } from '#ledger/accounts/day-sums.ts'
import type { InvoiceLine, InvoiceMonth, InvoiceView } from '#pages/account/wire.ts'
import type { ListPage } from '#pages/kit/wire.ts'
import { type Reading, shownSums } from './sums.ts'

const pageMonths = 12
/** The number of models on an invoice; all others share one line. */
const namedModels = 500

/** Months since the account was opened, newest first, with their sums. */
export async function invoices(
  { read }: Reading,
  { account, after }: { account: string; after?: string | undefined },
  nowMs: number,
): Promise<ListPage<InvoiceMonth>> {
  const opened = await openedAt({ read }, account)
  const all = opened === null ? [] : monthsBetween(opened, nowMs)
  const first = after === undefined ? 0 : all.indexOf(after) + 1
  const shown = all.slice(first, first + pageMonths)
  const [newest, oldest] = [shown[0], shown.at(-1)]
  if (newest === undefined || oldest === undefined) return { rows: [], total: all.length, next: null }
  const range = { fromMs: monthStart(oldest), toMs: nextMonthMs(newest), customer: account }
  const { rows } = await sql<KindRow & { day_ms: number }>`SELECT day_ms, kind,
      CAST(sum(effect_usd) AS bigint) AS effect_usd, CAST(sum(requests) AS bigint) AS requests
    FROM day_sum WHERE ${inFilter(range)} GROUP BY day_ms, kind`.execute(read)
  const ofMonth = Map.groupBy(rows, ({ day_ms }) => monthOf(day_ms))
  return {
    rows: shown.map(month => ({
      ...{ month, isFinal: nextMonthMs(month) <= nowMs },
      ...shownSums(sumsOf(ofMonth.get(month) ?? [])),
    })),
    total: all.length,
    next: first + pageMonths < all.length ? oldest : null,
  }
}

/** One month of an account; null for a month before the account was opened, and for a month in the future. */
export async function invoice(
  reading: Reading,
  { account, month }: { account: string; month: string },
  nowMs: number,
): Promise<Omit<InvoiceView, 'seller'> | null> {
  const opened = await openedAt(reading, account)
  if (opened === null || !monthsBetween(opened, nowMs).includes(month)) return null
  const range = { fromMs: monthStart(month), toMs: nextMonthMs(month) }
  const [rows, before, customer] = await Promise.all([
    dayRows(reading, { ...range, customer: account }),
    balanceBefore(reading, account, range.fromMs),
    reading.read.selectFrom('customer').select(['name', 'email']).where('account', '=', account).executeTakeFirst(),
  ])
  const { totals, byModel } = addedUp(rows, range)
  const effect = rows.reduce((sum, { effect_usd }) => sum + effect_usd, 0n)
  return {
    ...{ month, account, isFinal: range.toMs <= nowMs, madeAtMs: nowMs },
    ...{ fromMs: range.fromMs, toMs: range.toMs },
    customer: { name: customer?.name ?? null, email: customer?.email ?? null },
    lines: linesOf(totals, byModel),
    totals: shownSums(totals),
    balanceBefore: `${before}`,
    balanceAfter: `${before + effect}`,
  }
}

/** A line for each model, and one for everything else, so that the lines add up to the totals. */
function linesOf(totals: SumRow, byModel: readonly (SumRow & { model: string })[]): InvoiceLine[] {
  const named = byModel.slice(0, namedModels)
  const left = named.reduce(less, totals)
  const lines = named.map(({ model, ...row }) => ({ model, ...shownSums(row) }))
  const hasMore = usage.some(column => left[column] !== 0n) || left.requests > 0
  return hasMore ? [...lines, { model: null, ...shownSums(left) }] : lines
}

const usage = ['charged_usd', 'refunded_usd', 'written_off_usd', 'staking_usd'] as const

const less = (all: SumRow, row: SumRow): SumRow => ({
  ...{ requests: all.requests - row.requests, topped_up_usd: 0n, granted_usd: 0n },
  charged_usd: all.charged_usd - row.charged_usd,
  refunded_usd: all.refunded_usd - row.refunded_usd,
  written_off_usd: all.written_off_usd - row.written_off_usd,
  staking_usd: all.staking_usd - row.staking_usd,
})

async function openedAt({ read }: Reading, account: string): Promise<number | null> {
  const row = await read.selectFrom('account').select('created_at_ms').where('id', '=', account).executeTakeFirst()
  return row?.created_at_ms ?? null
}

async function balanceBefore({ read }: Reading, account: string, atMs: number): Promise<bigint> {
  const { rows } = await sql<{ effect_usd: bigint }>`SELECT CAST(coalesce(sum(effect_usd), 0) AS bigint) AS effect_usd
    FROM day_sum WHERE account = ${account} AND day_ms < ${atMs}`.execute(read)
  return rows[0]?.effect_usd ?? 0n
}

/** `2026-11` */
const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7)

const monthStart = (month: string): number => Date.parse(`${month}-01T00:00:00Z`)

const nextMonthMs = (month: string): number => {
  const date = new Date(monthStart(month))
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/** Newest first. */
function monthsBetween(fromMs: number, toMs: number): string[] {
  const months: string[] = []
  for (let month = monthOf(fromMs); monthStart(month) <= toMs; month = monthOf(nextMonthMs(month))) months.push(month)
  return months.reverse()
}
