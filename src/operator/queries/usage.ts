import { type RawBuilder, sql } from 'kysely'
import { dayMs, dayOfText, textOfDay } from '#contract/time.ts'
import { inFilter, type KindRow, type SumFilter, type SumRow, sumsOf } from '#ledger/accounts/day-sums.ts'
import type { Store } from '#ledger/store/store.ts'
import { refuse } from '../operator-refused.ts'
import { withId } from './customers.ts'
import type { OperatorContext } from './operator-context.ts'
import { kindSums, rangeOf, shownSums, sumColumns } from './sums.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/**
 * Sums by customer, model and day, in pages. Each charge changes sums and with them the order of the rows. So that no
 * page repeats or misses a row, all pages of a list have the days and the entries of its first page.
 */

const columnOf = { customer: 'account', model: 'model', day: 'day_ms' } as const

type Reading = Pick<Store, 'read'>
type Way = keyof typeof columnOf
type UsageRow = SumRow & {
  account?: string
  name?: string | null
  model?: string
  day_ms?: number
  /** The number of groups in the list, or of its day if it is read day by day. */
  groups: number
}

/** What the pages of a list have in common. */
interface UsageList {
  filter: SumFilter
  by: readonly Way[]
  /** The number of the newest entry in the sums. */
  until: number
}

/** Where a page begins: after so many rows, of this day if the list is read day by day. */
interface Place {
  first: number
  day: number | null
}

/** A `next` value: the list's newest entry, its number of entries, the end of its range, and a place. */
interface Next extends Place {
  until: number
  entries: number
  to: string
}

/** The highest charges first; if grouped by day, those of the newest day first. */
export async function usage(context: OperatorContext, order: OperatorOrder<'usage'>): Promise<OperatorAnswer<'usage'>> {
  const { store } = context
  const { limit, model, customer } = await withId(context, order)
  const newest = await newestEntry(store)
  const next = order.after === undefined ? null : nextOf(order.after, newest)
  const range = rangeOf(next ? { from: order.from, to: next.to } : order, context.clock.now())
  const by = [...new Set(order.by)]
  const list = { filter: { ...range, customer, model }, by, until: next?.until ?? newest }
  const before = next && by.length > 0 ? null : await totalsOf(store, list)
  if (before && by.length === 0) return { rows: [before.totals], total: 1, next: null, totals: before.totals }
  const read = by.includes('day') && by.length > 1 ? pageByDays : pageOfGroups
  const { rows, total, place } = await read(store, list, limit, next ?? { first: 0, day: null })
  const { entries, totals } = before ?? (await totalsOf(store, list))
  // PostgreSQL may show an entry after a newer one, if two processes write. The number of entries before the first page
  // and after this one tells whether it did.
  if (next && next.entries !== entries) throw refuse(`This list has changed. ${startAgain}`)
  const following = place && { ...place, until: list.until, entries, to: textOfDay(range.toMs) }
  return { rows: rows.map(shownUsage), total, next: following && textOfNext(following), totals }
}

const startAgain = 'Start again at its first page.'

/** The entries after a list's newest one are read again for each page, in tenths of a second for this many. */
const mostNewerEntries = 500_000

const textOfNext = ({ until, entries, to, day, first }: Next): string =>
  [until, entries, to, ...(day === null ? [] : [textOfDay(day)]), first].join('.')

function nextOf(after: string, newest: number): Next {
  const [, until, entries, to = '', day, first] =
    /^(\d{1,15})\.(\d{1,15})\.([\d-]{10})\.(?:([\d-]{10})\.)?(\d{1,9})$/.exec(after) ?? []
  const next = { until: Number(until), entries: Number(entries), to, first: Number(first) }
  const dayAtMs = day === undefined ? null : dayOfText(day)
  if (first === undefined || dayOfText(to) === null || (day !== undefined && dayAtMs === null))
    throw refuse('`after` is not a `next` value of this list.')
  if (newest - next.until > mostNewerEntries) throw refuse(`This list is too old to continue. ${startAgain}`)
  return { ...next, day: dayAtMs }
}

async function newestEntry({ read }: Reading): Promise<number> {
  const last = await read.selectFrom('entry').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  return last?.seq ?? 0
}

/** The daily sums without the entries that are newer than the list, as a table. */
const sumsUntil = ({ filter, until }: Pick<UsageList, 'filter' | 'until'>): RawBuilder<unknown> => sql`(
  SELECT day_ms, account, model, kind, effect_usd, requests, entries FROM day_sum WHERE ${inFilter(filter)}
  UNION ALL SELECT * FROM (
    SELECT created_at_ms - created_at_ms % ${sql.lit(dayMs)} AS day_ms, account, coalesce(model, '') AS model, kind,
      -effect AS effect_usd, CASE WHEN kind = 'CHARGE' AND line = 0 THEN -1 ELSE 0 END AS requests, -1 AS entries
    FROM entry WHERE seq > ${until}) newer
  WHERE ${inFilter(filter)}) listed`

async function totalsOf({ read }: Reading, list: UsageList) {
  const { rows } = await sql<KindRow & { entries: number }>`SELECT kind, CAST(sum(effect_usd) AS bigint) AS effect_usd,
      CAST(sum(requests) AS bigint) AS requests, CAST(sum(entries) AS bigint) AS entries
    FROM ${sumsUntil(list)} GROUP BY kind`.execute(read)
  const entries = rows.reduce((sum, row) => sum + row.entries, 0)
  return { entries, totals: shownSums(sumsOf(rows)) }
}

const shownUsage = ({ account, name, model, day_ms: day, ...row }: UsageRow) => ({
  ...(account === undefined ? {} : { customer: account, name: name ?? null }),
  ...(model === undefined ? {} : { model }),
  ...(day === undefined ? {} : { day: textOfDay(day) }),
  ...shownSums(row),
})

interface FoundPage {
  rows: UsageRow[]
  total: number | null
  /** Where the next page begins; null on the last one. */
  place: Place | null
}

async function pageOfGroups(reading: Reading, list: UsageList, limit: number, { first }: Place): Promise<FoundPage> {
  const rows = await groupsOf(reading, list, first, limit + 1)
  const place = rows.length > limit ? { first: first + limit, day: null } : null
  return { rows: rows.slice(0, limit), total: rows[0]?.groups ?? 0, place }
}

/**
 * Reads one day at a time, so that a page costs no more than the days that it shows. It does not say how many rows there
 * are: counting them would group all sums of the period.
 */
async function pageByDays(reading: Reading, list: UsageList, limit: number, place: Place): Promise<FoundPage> {
  const rows: UsageRow[] = []
  const days = await daysOf(reading, list.filter)
  let { first } = place
  for (let day = Math.min(days.newest, place.day ?? days.newest); day >= days.oldest; day -= dayMs) {
    const left = limit - rows.length
    const ofDay = { ...list, filter: { ...list.filter, fromMs: day, toMs: day + dayMs } }
    const found = await groupsOf(reading, ofDay, first, left + 1)
    rows.push(...found.slice(0, left))
    if (found.length > left) return { rows, total: null, place: { day, first: first + left } }
    first = 0
  }
  return { rows, total: null, place: null }
}

/** The newest and the oldest day with any entry; without one, a range of no days. */
async function daysOf({ read }: Reading, filter: SumFilter): Promise<{ newest: number; oldest: number }> {
  const { rows } = await sql<{ newest: number | null; oldest: number | null }>`SELECT max(day_ms) AS newest,
    min(day_ms) AS oldest FROM day_sum WHERE ${inFilter(filter)}`.execute(read)
  return { newest: rows[0]?.newest ?? 0, oldest: rows[0]?.oldest ?? 1 }
}

async function groupsOf({ read }: Reading, list: UsageList, first: number, limit: number): Promise<UsageRow[]> {
  const columns = list.by.map(each => columnOf[each])
  const names = sql.raw(columns.join())
  const isNamed = list.by.includes('customer')
  const joined = isNamed ? sql` LEFT JOIN customer c ON c.account = s.account` : sql``
  const isByDay = list.by.length === 1 && list.by[0] === 'day'
  const ordered = isByDay ? ['s.day_ms DESC'] : ['s.charged_usd DESC', ...columns.map(column => `s.${column}`)]
  // All entries of a group may be newer than the list.
  const { rows } = await sql<UsageRow>`SELECT s.*${isNamed ? sql`, c.name` : sql``}, count(*) OVER () AS groups
    FROM (SELECT ${names}, ${sumColumns} FROM (${kindSums(sumsUntil(list), columns.join())}) k
      GROUP BY ${names} HAVING sum(entries) > 0) s${joined}
    ORDER BY ${sql.raw(ordered.join())} LIMIT ${limit} OFFSET ${first}`.execute(read)
  return rows
}
