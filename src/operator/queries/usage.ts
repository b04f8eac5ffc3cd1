import { type RawBuilder, sql } from 'kysely'
import { dayMs, dayOfText, textOfDay } from '#contract/time.ts'
import { inFilter, type SumFilter, type SumRow } from '#ledger/accounts/day-sums.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Sums } from '#pages/console/answers.ts'
import { refuse } from '../operator-refused.ts'
import { withId } from './customers.ts'
import type { OperatorContext } from './operator-context.ts'
import { kindSums, rangeOf, shownSums, sumColumns, sumColumnsAs } from './sums.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/**
 * Sums by customer, model and day, in pages. Each charge changes sums and with them the order of the rows. So that no
 * page repeats or misses a row, all pages of a list have the days and the entries of its first page.
 */

const columnOf = { customer: 'account', model: 'model', day: 'day_ms' } as const

type Reading = Pick<Store, 'read'>
type Way = keyof typeof columnOf
type UsageRow = SumRow & { account?: string; name?: string | null; model?: string; day_ms?: number }

/** What the pages of a list have in common. */
interface UsageList {
  filter: SumFilter
  by: readonly Way[]
  /** The number of the newest entry in the sums; null on a first page, which has all entries. */
  until: number | null
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
  const next = order.after === undefined ? null : nextOf(order.after, await newestEntry(store))
  const range = rangeOf(next ? { from: order.from, to: next.to } : order, context.clock.now())
  const by = [...new Set(order.by)]
  const list: UsageList = { filter: { ...range, customer, model }, by, until: next?.until ?? null }
  if (by.length === 0) {
    const { totals } = await allOf(store, list)
    return { rows: [totals], total: 1, next: null, totals }
  }
  const read = by.includes('day') && by.length > 1 ? pageByDays : pageOfGroups
  const { rows, total, place, all } = await read(store, list, limit, next ?? { first: 0, day: null })
  const { until, entries, totals } = all
  // PostgreSQL may show an entry after a newer one, if two processes write.
  if (next && next.entries !== entries) throw refuse(`This list changed while it was read. ${startAgain}`)
  const following = place && { ...place, until, entries, to: textOfDay(range.toMs) }
  return { rows: rows.map(shownUsage), total, next: following && textOfNext(following), totals }
}

const startAgain = 'Start again from its beginning.'

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

/** The daily sums of a list, as a table: those of the ledger, without entries that are newer than the list. */
function sumsOfList({ filter, until }: Pick<UsageList, 'filter' | 'until'>): RawBuilder<unknown> {
  const kept = sql`SELECT day_ms, account, model, kind, effect_usd, requests, entries FROM day_sum
    WHERE ${inFilter(filter)}`
  if (until === null) return sql`(${kept}) listed`
  return sql`(${kept} UNION ALL SELECT * FROM (
    SELECT created_at_ms - created_at_ms % ${sql.lit(dayMs)} AS day_ms, account, coalesce(model, '') AS model, kind,
      -effect AS effect_usd, CASE WHEN kind = 'CHARGE' AND line = 0 THEN -1 ELSE 0 END AS requests, -1 AS entries
    FROM entry WHERE seq > ${until}) newer
  WHERE ${inFilter(filter)}) listed`
}

/** All entries of a list. */
interface All {
  /** The newest of them. */
  until: number
  entries: number
  totals: Sums
}

type AllRow = { [Column in keyof SumRow as `all_${Column}`]: SumRow[Column] } & { all_entries: number; newest: number }

const allColumns = sql`${sumColumnsAs('all_')}, CAST(coalesce(sum(entries), 0) AS bigint) AS all_entries,
  coalesce((SELECT seq FROM entry ORDER BY seq DESC LIMIT 1), 0) AS newest`

const readAll = (row: AllRow, { until }: Pick<UsageList, 'until'>): All => ({
  ...{ until: until ?? row.newest, entries: row.all_entries },
  totals: shownSums({
    ...{ requests: row.all_requests, charged_usd: row.all_charged_usd, refunded_usd: row.all_refunded_usd },
    ...{ written_off_usd: row.all_written_off_usd, staking_usd: row.all_staking_usd },
    ...{ topped_up_usd: row.all_topped_up_usd, granted_usd: row.all_granted_usd },
  }),
})

async function allOf({ read }: Reading, list: UsageList): Promise<All> {
  const { rows } = await sql<AllRow>`SELECT ${allColumns} FROM (${kindSums(sumsOfList(list))}) k`.execute(read)
  const [row] = rows
  if (!row) throw new Error('A sum has no row.')
  return readAll(row, list)
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
  all: All
}

/** In one statement, so that the rows and the sum of all have the same entries. */
async function pageOfGroups(reading: Reading, list: UsageList, limit: number, { first }: Place): Promise<FoundPage> {
  const rows = await groupsOf(reading, list, first, limit + 1)
  const [one] = rows
  const place = rows.length > limit ? { first: first + limit, day: null } : null
  // Without a row there is no place for the sum of all, so it is read by itself.
  return {
    ...{ rows: rows.slice(0, limit), total: one?.groups ?? 0, place },
    all: one ? readAll(one, list) : await allOf(reading, list),
  }
}

/**
 * Reads one day at a time, so that a page costs no more than the days that it shows. It does not say how many rows there
 * are: counting them would group all sums of the period.
 */
async function pageByDays(reading: Reading, list: UsageList, limit: number, place: Place): Promise<FoundPage> {
  // Before the rows of a first page, and after those of later ones: if the number of entries is the same, nothing came
  // into the list in between.
  const before = list.until === null ? await allOf(reading, list) : null
  const rows: UsageRow[] = []
  let next: Place | null = null
  const days = await daysOf(reading, list.filter)
  const until = list.until ?? before?.until ?? null
  let { first } = place
  for (let day = Math.min(days.newest, place.day ?? days.newest); day >= days.oldest && !next; day -= dayMs) {
    const left = limit - rows.length
    const ofDay = { ...list, until, filter: { ...list.filter, fromMs: day, toMs: day + dayMs } }
    const found = await groupsOf(reading, ofDay, first, left + 1)
    rows.push(...found.slice(0, left))
    if (found.length > left) next = { day, first: first + left }
    first = 0
  }
  return { rows, total: null, place: next, all: before ?? (await allOf(reading, list)) }
}

/** The newest and the oldest day with any entry; without one, a range of no days. */
async function daysOf({ read }: Reading, filter: SumFilter): Promise<{ newest: number; oldest: number }> {
  const { rows } = await sql<{ newest: number | null; oldest: number | null }>`SELECT max(day_ms) AS newest,
    min(day_ms) AS oldest FROM day_sum WHERE ${inFilter(filter)}`.execute(read)
  return { newest: rows[0]?.newest ?? 0, oldest: rows[0]?.oldest ?? 1 }
}

/** Each row also has the number of groups and the sum of all. */
async function groupsOf({ read }: Reading, list: UsageList, first: number, limit: number) {
  const columns = list.by.map(each => columnOf[each])
  const names = sql.raw(columns.join())
  const isNamed = list.by.includes('customer')
  const joined = isNamed ? sql` LEFT JOIN customer c ON c.account = s.account` : sql``
  const isByDay = list.by.length === 1 && list.by[0] === 'day'
  const ordered = isByDay ? ['s.day_ms DESC'] : ['s.charged_usd DESC', ...columns.map(column => `s.${column}`)]
  // All entries of a group may be newer than the list.
  const { rows } = await sql<UsageRow & AllRow & { groups: number }>`
    WITH k AS MATERIALIZED (${kindSums(sumsOfList(list), columns)})
    SELECT s.*${isNamed ? sql`, c.name` : sql``}, count(*) OVER () AS groups, a.*
    FROM (SELECT ${names}, ${sumColumns} FROM k GROUP BY ${names} HAVING sum(entries) > 0) s
      CROSS JOIN (SELECT ${allColumns} FROM k) a${joined}
    ORDER BY ${sql.raw(ordered.join())} LIMIT ${limit} OFFSET ${first}`.execute(read)
  return rows
}
