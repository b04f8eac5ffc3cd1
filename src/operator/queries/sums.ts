import { type RawBuilder, sql } from 'kysely'
import { formatUsd } from '#contract/money.ts'
import { dayMs, dayOfText, textOfDay } from '#contract/time.ts'
import {
  addedUp,
  type DayRange,
  dayRows,
  inFilter,
  type KindRow,
  type SumFilter,
  type SumRow,
  sumsOf,
} from '#ledger/accounts/day-sums.ts'
import type { Store } from '#ledger/store/store.ts'
import { refuse } from '../operator-refused.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorAnswer, OperatorOrder, Sums } from './wire.ts'

/**
 * Sums of entries, from the daily sums that the ledger writes with each entry. They are exact for any number of
 * entries.
 */

/** The default period: today and the 29 days before it. */
const usualDays = 30

/** The numbers of models and customers in an overview. */
const mostCharged = 10

const sumOf = (kind: string, sign = ''): string =>
  `CAST(coalesce(${sign}sum(CASE WHEN kind = '${kind}' THEN effect_usd END), 0) AS bigint)`

/** The columns of a query on `day_sum`. */
export const sumColumns = sql.raw(`CAST(coalesce(sum(requests), 0) AS bigint) AS requests,
  ${sumOf('CHARGE', '-')} AS charged_usd, ${sumOf('REFUND')} AS refunded_usd, ${sumOf('WRITE_OFF')} AS written_off_usd,
  ${sumOf('STAKING')} AS staking_usd, ${sumOf('TOP_UP')} AS topped_up_usd, ${sumOf('GRANT')} AS granted_usd`)

/** Null if an account has no row. */
type MaybeSumRow = { [Column in keyof SumRow]: SumRow[Column] | null }

export function shownSums(row: MaybeSumRow | undefined): Sums {
  const of = (column: Exclude<keyof SumRow, 'requests'>) => row?.[column] ?? 0n
  const charged = of('charged_usd')
  const others = of('refunded_usd') + of('written_off_usd') + of('staking_usd')
  return {
    requests: row?.requests ?? 0,
    chargedUsd: formatUsd(charged),
    refundedUsd: formatUsd(of('refunded_usd')),
    writtenOffUsd: formatUsd(of('written_off_usd')),
    stakingUsd: formatUsd(of('staking_usd')),
    revenueUsd: formatUsd(charged - others),
    toppedUpUsd: formatUsd(of('topped_up_usd')),
    grantedUsd: formatUsd(of('granted_usd')),
  }
}

/** Returns the requested period; refuses one that ends before it begins. */
export function rangeOf({ from, to }: { from?: string | undefined; to?: string | undefined }, nowMs: number): DayRange {
  const tomorrowMs = nowMs - (nowMs % dayMs) + dayMs
  const toMs = (to === undefined ? null : dayOfText(to)) ?? tomorrowMs
  const fromMs = (from === undefined ? null : dayOfText(from)) ?? toMs - usualDays * dayMs
  if (fromMs >= toMs) throw refuse(`\`from\` (${textOfDay(fromMs)}) is not before \`to\` (${textOfDay(toMs)}).`)
  return { fromMs, toMs }
}

type Reading = Pick<Store, 'read'>

async function totalsOf({ read }: Reading, filter: SumFilter): Promise<Sums> {
  const { rows } = await sql<KindRow>`SELECT kind, CAST(sum(effect_usd) AS bigint) AS effect_usd,
      CAST(sum(requests) AS bigint) AS requests
    FROM day_sum WHERE ${inFilter(filter)} GROUP BY kind`.execute(read)
  return shownSums(sumsOf(rows))
}

/** Totals; a row for each day, even without entries; models, the highest charges first. */
export async function sumsWithin(reading: Reading, filter: SumFilter, models: number) {
  const { totals, byDay, byModel } = addedUp(await dayRows(reading, filter), filter)
  return {
    totals: shownSums(totals),
    byDay: byDay.map(({ day, ...row }) => ({ day, ...shownSums(row) })),
    byModel: byModel.slice(0, models).map(({ model, ...row }) => ({ model, ...shownSums(row) })),
  }
}

/** Groups by kind first, so that `sumColumns` adds up only a few rows. */
const kindSums = (filter: SumFilter, columns: string): RawBuilder<unknown> => sql`SELECT ${sql.raw(columns)}, kind,
  CAST(sum(effect_usd) AS bigint) AS effect_usd, CAST(sum(requests) AS bigint) AS requests
  FROM day_sum WHERE ${inFilter(filter)} GROUP BY ${sql.raw(columns)}, kind`

async function sumsByCustomer({ read }: Reading, filter: SumFilter, limit: number) {
  const { rows } = await sql<SumRow & { account: string; name: string | null }>`SELECT s.*, c.name FROM
    (SELECT account, ${sumColumns} FROM (${kindSums(filter, 'account')}) k GROUP BY account
      ORDER BY charged_usd DESC, account LIMIT ${limit}) s
    LEFT JOIN customer c ON c.account = s.account ORDER BY s.charged_usd DESC, s.account`.execute(read)
  return rows.map(({ account, name, ...row }) => ({ customer: account, name, ...shownSums(row) }))
}

export async function overview(
  context: OperatorContext,
  order: OperatorOrder<'overview'>,
): Promise<OperatorAnswer<'overview'>> {
  const { store } = context
  const nowMs = context.clock.now()
  const range = rangeOf(order, nowMs)
  const [sums, byCustomer, balances, atRisk, ledger] = await Promise.all([
    sumsWithin(store, range, mostCharged),
    sumsByCustomer(store, range, mostCharged),
    balancesOf(store),
    riskOf(store, nowMs),
    context.ledger.state(),
  ])
  const days = { from: textOfDay(range.fromMs), to: textOfDay(range.toMs) }
  return { ...days, ...sums, balances, atRisk, ledger, byCustomer }
}

async function balancesOf({ read }: Reading) {
  const { rows } = await sql<{ customers: number; suspended: number; posted_usd: bigint; held_usd: bigint }>`
    SELECT CAST(count(*) AS bigint) AS customers, CAST(count(suspended_at_ms) AS bigint) AS suspended,
      CAST(coalesce(sum(posted), 0) AS bigint) AS posted_usd, CAST(coalesce(sum(held), 0) AS bigint) AS held_usd
    FROM account`.execute(read)
  const { customers = 0, suspended = 0, posted_usd: posted = 0n, held_usd: held = 0n } = rows[0] ?? {}
  return { customers, suspended, balanceUsd: formatUsd(posted), heldUsd: formatUsd(held) }
}

/** A payment that is pending for this long needs an operator, because it is retried all the time. */
export const stuckAfterMs = 3_600_000

async function riskOf({ read }: Reading, nowMs: number) {
  const { rows } = await sql<{ holds: number; jobs: number; payments: number; payments_usd: bigint }>`SELECT
    (SELECT CAST(count(*) AS bigint) FROM hold) AS holds,
    (SELECT CAST(count(*) AS bigint) FROM job WHERE state IN ('queued', 'running')) AS jobs,
    (SELECT CAST(count(*) AS bigint) FROM payment WHERE state IN ('claimed', 'settling', 'unknown')
      AND created_at_ms < ${nowMs - stuckAfterMs}) AS payments,
    (SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM payment WHERE state IN ('claimed', 'settling', 'unknown')
      AND created_at_ms < ${nowMs - stuckAfterMs}) AS payments_usd`.execute(read)
  const { holds = 0, jobs = 0, payments = 0, payments_usd: usd = 0n } = rows[0] ?? {}
  return { openHolds: holds, openJobs: jobs, stuckPayments: payments, stuckPaymentsUsd: formatUsd(usd) }
}

const columnOf = { customer: 'account', model: 'model', day: 'day_ms' } as const

type UsageRow = SumRow & { account?: string; name?: string | null; model?: string; day_ms?: number }

/** The highest charges first; if grouped by day, those of the newest day first. */
export async function usage(context: OperatorContext, order: OperatorOrder<'usage'>): Promise<OperatorAnswer<'usage'>> {
  const { limit, after, model, customer } = order
  const by = [...new Set(order.by)]
  const filter = { ...rangeOf(order, context.clock.now()), customer, model }
  if (by.length === 0) {
    const totals = await totalsOf(context.store, filter)
    return { rows: [totals], total: 1, next: null, totals }
  }
  const page = { filter, by, limit, after }
  if (by.includes('day') && by.length > 1) {
    const [totals, found] = await Promise.all([totalsOf(context.store, filter), pageByDays(context.store, page)])
    return { ...found, rows: found.rows.map(shownUsage), totals }
  }
  const { rows, ...found } = await pageOfGroups(context.store, page)
  return { ...found, rows: rows.map(shownUsage) }
}

interface UsagePage {
  filter: SumFilter
  by: readonly (keyof typeof columnOf)[]
  limit: number
  after: string | undefined
}

const shownUsage = ({ account, name, model, day_ms: day, ...row }: UsageRow) => ({
  ...(account === undefined ? {} : { customer: account, name: name ?? null }),
  ...(model === undefined ? {} : { model }),
  ...(day === undefined ? {} : { day: textOfDay(day) }),
  ...shownSums(row),
})

async function pageOfGroups(reading: Reading, { after, limit, ...order }: UsagePage) {
  const first = placeOf(after)
  const [all, rows] = await Promise.all([
    allGroupsOf(reading, order),
    groupsOf(reading, { ...order, first, limit: limit + 1 }),
  ])
  return { ...all, rows: rows.slice(0, limit), next: rows.length > limit ? `${first + limit}` : null }
}

/** The number of groups and the totals of all of them, from one reading of the period. */
async function allGroupsOf({ read }: Reading, { filter, by }: Pick<UsagePage, 'filter' | 'by'>) {
  const columns = by.map(each => columnOf[each]).join()
  const { rows } = await sql<SumRow & { groups: number }>`WITH k AS MATERIALIZED (${kindSums(filter, columns)})
    SELECT ${sumColumns}, (SELECT CAST(count(*) AS bigint) FROM (SELECT DISTINCT ${sql.raw(columns)} FROM k) g) AS groups
    FROM k`.execute(read)
  return { total: rows[0]?.groups ?? 0, totals: shownSums(rows[0]) }
}

/**
 * Reads one day at a time, so that a page costs no more than the days that it shows. It does not say how many rows there
 * are: counting them would group all sums of the period.
 */
async function pageByDays(reading: Reading, { filter, by, limit, after }: UsagePage) {
  const rows: UsageRow[] = []
  let { day, first, oldest } = await dayPlace(reading, filter, after)
  for (; day >= oldest; day -= dayMs) {
    const left = limit - rows.length
    const found = await groupsOf(reading, {
      ...{ filter: { ...filter, fromMs: day, toMs: day + dayMs }, by, first, limit: left + 1 },
    })
    rows.push(...found.slice(0, left))
    if (found.length > left) return { rows, total: null, next: `${textOfDay(day)} ${first + left}` }
    first = 0
  }
  return { rows, total: null, next: null }
}

/** Where a page of days begins: a day, how many of its rows were shown, and the oldest day with any. */
async function dayPlace({ read }: Reading, filter: SumFilter, after: string | undefined) {
  const [, text = '', first = ''] = /^(\S{10}) (\d{1,9})$/.exec(after ?? '') ?? []
  if (after !== undefined && dayOfText(text) === null) throw refuse('`after` is not a `next` value of this list.')
  const newest = await sql<{
    day: number | null
    oldest: number | null
  }>`SELECT max(day_ms) AS day, min(day_ms) AS oldest
    FROM day_sum WHERE ${inFilter(filter)}`.execute(read)
  const { day = null, oldest = null } = newest.rows[0] ?? {}
  if (day === null || oldest === null) return { day: 0, first: 0, oldest: 1 }
  return {
    oldest,
    ...(after === undefined ? { day, first: 0 } : { day: Math.min(day, dayOfText(text) ?? day), first: Number(first) }),
  }
}

interface GroupOrder {
  filter: SumFilter
  by: UsagePage['by']
  first: number
  limit: number
}

async function groupsOf({ read }: Reading, { filter, by, first, limit }: GroupOrder): Promise<UsageRow[]> {
  const named = by.includes('customer')
  const columns = by.map(each => columnOf[each])
  const joined = named ? sql` LEFT JOIN customer c ON c.account = s.account` : sql``
  const isByDay = by.length === 1 && by[0] === 'day'
  const ordered = sql.raw(
    isByDay ? 's.day_ms DESC' : ['s.charged_usd DESC', ...columns.map(column => `s.${column}`)].join(),
  )
  const { rows } = await sql<UsageRow>`SELECT s.*${named ? sql`, c.name` : sql``} FROM
      (SELECT ${sql.raw(columns.join())}, ${sumColumns} FROM (${kindSums(filter, columns.join())}) k
        GROUP BY ${sql.raw(columns.join())}) s${joined}
    ORDER BY ${ordered} LIMIT ${limit} OFFSET ${first}`.execute(read)
  return rows
}

/** The number of rows before a page, for lists whose order has no key. */
export function placeOf(after: string | undefined): number {
  if (after === undefined) return 0
  if (/^\d{1,9}$/.test(after)) return Number(after)
  throw refuse('`after` is not a `next` value of this list.')
}

export async function countOf({ read }: Reading, rows: RawBuilder<unknown>): Promise<number> {
  const found = await sql<{ n: number }>`SELECT CAST(count(*) AS bigint) AS n FROM (${rows}) counted`.execute(read)
  return found.rows[0]?.n ?? 0
}
