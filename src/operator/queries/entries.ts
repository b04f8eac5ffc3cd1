import { type RawBuilder, sql } from 'kysely'
import { formatUsd } from '#contract/money.ts'
import { dayOfText, hourMs } from '#contract/time.ts'
import { csvLine } from '#ledger/audit/csv.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EntryTable } from '#ledger/store/tables.ts'
import { entryRefs } from '#ledger/store/units.ts'
import type { EntryView } from '#pages/console/answers.ts'
import { numberOf } from './acts.ts'
import { customerNamed } from './customers.ts'
import type { CsvPage, CsvTable, OperatorContext } from './operator-context.ts'
import { usage } from './usage.ts'
import { mostRows, type OperatorAnswer, type OperatorOrder } from './wire.ts'

type Reading = Pick<Store, 'read'>
type Asked = OperatorOrder<'entries'>

interface StoredEntry {
  seq: number
  account: string
  name: string | null
  kind: EntryTable['kind']
  effect: bigint
  posted_after: bigint
  request: string | null
  model: string | null
  sku: string | null
  units: bigint | null
  api_key: string | null
  reason: string | null
  ref: string
  created_at_ms: number
}

/** Rows of the ledger, newest first. */
export async function entries(context: OperatorContext, asked: Asked): Promise<OperatorAnswer<'entries'>> {
  const filter = await filterOf(context, asked)
  const total = await totalOf(context.store, asked, filter.account)
  return { ...(total === 0 ? { rows: [], next: null } : await pageOf(context, asked, filter)), total }
}

/** A page without its total, which an export of all pages does not need. */
async function pageOf(context: OperatorContext, { limit, after }: Asked, filter: EntryFilter) {
  const before = after === undefined ? sql`` : sql` AND e.seq < ${numberOf(after)}`
  const { rows } = await sql<StoredEntry>`SELECT e.seq, e.account, c.name, e.kind, e.effect, e.posted_after, e.request,
      e.model, e.sku, e.units, e.api_key, e.reason, e.ref, e.created_at_ms
    FROM entry e LEFT JOIN customer c ON c.account = e.account
    WHERE ${filter.where}${before} ORDER BY e.seq DESC LIMIT ${limit + 1}`.execute(context.store.read)
  const shown = rows.slice(0, limit)
  return {
    rows: shown.map(shownEntry),
    next: rows.length > limit ? `${shown.at(-1)?.seq}` : null,
  }
}

const shownEntry = (row: StoredEntry): EntryView => ({
  ...{ number: row.seq, atMs: row.created_at_ms, customer: row.account, name: row.name, kind: row.kind },
  ...{ amountUsd: formatUsd(row.effect), balanceAfterUsd: formatUsd(row.posted_after) },
  ...{ request: row.request, model: row.model, sku: row.sku, units: row.units === null ? null : `${row.units}` },
  ...{ key: row.api_key, reason: row.reason, ref: row.ref },
})

interface EntryFilter {
  where: RawBuilder<unknown>
  account: string | undefined
}

async function filterOf({ store }: OperatorContext, asked: Asked): Promise<EntryFilter> {
  const { kind, model, request } = asked
  const account = asked.customer === undefined ? undefined : (await customerNamed(store, asked.customer)).id
  const terms = [sql`1 = 1`]
  if (account !== undefined) terms.push(sql`e.account = ${account}`)
  // Worded like the condition of the index `entry_of_kind`, so that it is used.
  if (kind !== undefined)
    terms.push(kind === 'CHARGE' ? sql`e.kind = 'CHARGE'` : sql`e.kind = ${kind} AND e.kind <> 'CHARGE'`)
  if (model !== undefined) terms.push(sql`e.model = ${model}`)
  if (request !== undefined) terms.push(sql`e.ref IN (${sql.join(Object.values(entryRefs).map(ref => ref(request)))})`)
  const fromMs = asked.from === undefined ? undefined : (dayOfText(asked.from) ?? 0)
  const toMs = asked.to === undefined ? undefined : (dayOfText(asked.to) ?? 0)
  if (fromMs !== undefined)
    terms.push(sql`e.created_at_ms >= ${fromMs} AND e.seq >= ${await firstSince(store, fromMs - outOfOrderMs)}`)
  if (toMs !== undefined)
    terms.push(sql`e.created_at_ms < ${toMs} AND e.seq < ${await firstSince(store, toMs + outOfOrderMs)}`)
  return { where: sql.join(terms, sql` AND `), account }
}

/** Entries are ordered by time, except that the clocks of processes may differ by up to this much. */
const outOfOrderMs = hourMs

/** Finds the first entry at or after a time by binary search, because entries have no index by time alone. */
async function firstSince({ read }: Reading, atMs: number): Promise<number> {
  const entry = read.selectFrom('entry').select(['seq', 'created_at_ms'])
  const last = await entry.orderBy('seq', 'desc').limit(1).executeTakeFirst()
  let [low, high] = [0, (last?.seq ?? 0) + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await entry.where('seq', '>=', middle).orderBy('seq').limit(1).executeTakeFirst()
    if (!found || found.created_at_ms >= atMs) high = middle
    else low = found.seq + 1
  }
  return low
}

/** Computed from the daily sums, so that no list counts a million rows. Null for a single request, which has few. */
async function totalOf({ read }: Reading, asked: Asked, account: string | undefined): Promise<number | null> {
  if (asked.request !== undefined) return null
  const terms = [sql`1 = 1`]
  if (account !== undefined) terms.push(sql`account = ${account}`)
  if (asked.kind !== undefined) terms.push(sql`kind = ${asked.kind}`)
  if (asked.model !== undefined) terms.push(sql`model = ${asked.model}`)
  if (asked.from !== undefined) terms.push(sql`day_ms >= ${dayOfText(asked.from) ?? 0}`)
  if (asked.to !== undefined) terms.push(sql`day_ms < ${dayOfText(asked.to) ?? 0}`)
  const found = await sql<{ n: number }>`SELECT CAST(coalesce(sum(entries), 0) AS bigint) AS n FROM day_sum
    WHERE ${sql.join(terms, sql` AND `)}`.execute(read)
  return found.rows[0]?.n ?? 0
}

const entryColumns = [
  ...(['number', 'atMs', 'customer', 'name', 'kind', 'amountUsd', 'balanceAfterUsd', 'request', 'model'] as const),
  ...(['sku', 'units', 'key', 'reason', 'ref'] as const),
] as const

/** Formats a filter's rows as CSV, with headings on the first page. Times are ISO 8601. */
export function csvPage<Name extends CsvTable>(
  context: OperatorContext,
  name: Name,
  order: OperatorOrder<Name>,
): Promise<CsvPage> {
  const asked = { ...order, limit: mostRows }
  return name === 'usage' ? usageCsv(context, asked as OperatorOrder<'usage'>) : entriesCsv(context, asked as Asked)
}

/** Reads the complete list page by page, so that memory stays constant. */
export async function* csvOf<Name extends CsvTable>(
  context: OperatorContext,
  name: Name,
  order: OperatorOrder<Name>,
): AsyncGenerator<string> {
  const pageAfter = (after: string | undefined) => {
    const asked = { ...order, after }
    return context.beside?.csvPage(name, asked) ?? csvPage(context, name, asked)
  }
  for (let after = order.after; ; ) {
    const { text, next } = await pageAfter(after)
    yield text
    if (next === null) return
    after = next
  }
}

async function entriesCsv(context: OperatorContext, asked: Asked): Promise<CsvPage> {
  const { rows, next } = await pageOf(context, asked, await filterOf(context, asked))
  const head = asked.after === undefined ? [entryColumns.map(column => (column === 'atMs' ? 'time' : column))] : []
  const cells = rows.map(row =>
    entryColumns.map(column => (column === 'atMs' ? new Date(row.atMs).toISOString() : row[column])),
  )
  return { text: [...head, ...cells].map(csvLine).join(''), next }
}

async function usageCsv(context: OperatorContext, asked: OperatorOrder<'usage'>): Promise<CsvPage> {
  const by = asked.by.flatMap(each => (each === 'customer' ? (['customer', 'name'] as const) : [each]))
  const columns = [...by, ...sumNames] as const
  const { rows, next } = await usage(context, asked)
  const head = asked.after === undefined ? [columns] : []
  const cells = rows.map(row => columns.map(column => row[column] ?? null))
  return { text: [...head, ...cells].map(csvLine).join(''), next }
}

const sumNames = [
  ...(['requests', 'chargedUsd', 'refundedUsd', 'writtenOffUsd', 'stakingUsd', 'revenueUsd'] as const),
  ...(['toppedUpUsd', 'grantedUsd'] as const),
] as const
