import { type RawBuilder, sql } from 'kysely'
import { dayOfText } from '#contract/time.ts'
import { entryRefs } from '#ledger/store/units.ts'
import type { HoldRow, RequestRow, RequestView } from '#pages/account/wire.ts'
import type { ListPage } from '#pages/kit/wire.ts'
import type { Reading, Scope } from './sums.ts'

const pageRequests = 50
/** Calls in flight that the overview lists. */
const shownHolds = 20

export interface RequestFilter {
  model?: string | undefined
  /** One of the account's keys. */
  key?: string | undefined
  /** Days, `to` included. */
  from?: string | undefined
  to?: string | undefined
  /** `next` of the previous page. */
  after?: string | undefined
}

interface Head {
  request: string
  created_at_ms: number
  seq: number
}

/**
 * Charged requests, newest first. Each key and each account has an index of its entries, so neither query reads the
 * calls of others.
 */
export async function requests(
  reading: Reading,
  { scope, filter }: { scope: Scope; filter: RequestFilter },
): Promise<ListPage<RequestRow>> {
  const { account } = scope
  const key = scope.key ?? filter.key ?? null
  if (scope.key !== null && filter.key !== undefined && filter.key !== scope.key) return noRequests
  if (scope.key === null && key !== null && !(await isKeyOf(reading, account, key))) return noRequests
  const { rows } = await sql<Head>`SELECT request, created_at_ms, seq FROM entry
    WHERE ${key === null ? sql`account = ${account} AND kind <> 'TOP_UP' AND kind <> 'GRANT'` : sql`api_key = ${key}`}
      AND kind = 'CHARGE' AND line = 0 AND request IS NOT NULL${conditions(filter)}
    ORDER BY created_at_ms DESC, seq DESC LIMIT ${pageRequests + 1}`.execute(reading.read)
  const shown = rows.slice(0, pageRequests)
  const last = shown.at(-1)
  const found = await rowsOf(reading, account, shown)
  return {
    rows: found,
    total: key === null ? await countOf(reading, account, filter) : null,
    next: last && rows.length > pageRequests ? `${last.created_at_ms} ${last.seq}` : null,
  }
}

const noRequests: ListPage<never> = { rows: [], total: 0, next: null }

/** True also for a revoked key. */
async function isKeyOf({ read }: Reading, account: string, key: string): Promise<boolean> {
  const row = await read.selectFrom('api_key').select('account').where('id', '=', key).executeTakeFirst()
  return row?.account === account
}

function conditions({ model, from, to, after }: RequestFilter): RawBuilder<unknown> {
  const terms: RawBuilder<unknown>[] = []
  if (model !== undefined) terms.push(sql` AND model = ${model}`)
  if (from !== undefined) terms.push(sql` AND created_at_ms >= ${dayOfText(from) ?? 0}`)
  if (to !== undefined) terms.push(sql` AND created_at_ms < ${(dayOfText(to) ?? 0) + 86_400_000}`)
  const [, atMs, seq] = /^(\d{1,15}) (\d{1,15})$/.exec(after ?? '') ?? []
  if (atMs !== undefined) terms.push(sql` AND (created_at_ms, seq) < (${Number(atMs)}, ${Number(seq)})`)
  return sql.join(terms, sql``)
}

/** Computed from the daily sums, so that no list counts a million rows. */
async function countOf({ read }: Reading, account: string, { model, from, to }: RequestFilter): Promise<number> {
  const terms = [sql`account = ${account} AND kind = 'CHARGE'`]
  if (model !== undefined) terms.push(sql`model = ${model}`)
  if (from !== undefined) terms.push(sql`day_ms >= ${dayOfText(from) ?? 0}`)
  if (to !== undefined) terms.push(sql`day_ms <= ${dayOfText(to) ?? 0}`)
  const { rows } = await sql<{ n: number }>`SELECT CAST(coalesce(sum(requests), 0) AS bigint) AS n FROM day_sum
    WHERE ${sql.join(terms, sql` AND `)}`.execute(read)
  return rows[0]?.n ?? 0
}

const columns = [
  ...(['seq', 'kind', 'account', 'line', 'amount', 'effect', 'request', 'model', 'sku', 'units'] as const),
  ...(['unit_price_pico_usd', 'reason', 'api_key', 'created_at_ms'] as const),
] as const

/** Found by reference, because with a condition on the account, SQLite would read all of its entries. */
async function entriesOf({ read }: Reading, account: string, requests: readonly string[]) {
  if (requests.length === 0) return []
  const refs = requests.flatMap(request => Object.values(entryRefs).map(ref => ref(request)))
  const rows = await read.selectFrom('entry').select(columns).where('ref', 'in', refs).execute()
  return rows.filter(row => row.account === account)
}

type Entry = Awaited<ReturnType<typeof entriesOf>>[number]

async function rowsOf(reading: Reading, account: string, heads: readonly Head[]): Promise<RequestRow[]> {
  const entries = await entriesOf(
    reading,
    account,
    heads.map(({ request }) => request),
  )
  const ofRequest = Map.groupBy(entries, ({ request }) => request ?? '')
  const names = await keyNames(reading, account, entries)
  return heads.map(({ request }) => rowOf(request, ofRequest.get(request) ?? [], names))
}

function rowOf(request: string, entries: readonly Entry[], names: ReadonlyMap<string, string>): RequestRow {
  const sum = (...kinds: Entry['kind'][]) =>
    entries.reduce((all, { kind, effect }) => (kinds.includes(kind) ? all + effect : all), 0n)
  const first = entries.find(({ kind }) => kind === 'CHARGE')
  const key = first?.api_key ?? null
  return {
    ...{ request, atMs: first?.created_at_ms ?? 0, model: first?.model ?? null },
    key: key === null ? null : (names.get(key) ?? key),
    ...{ charged: `${-sum('CHARGE')}`, refunded: `${sum('REFUND')}`, writtenOff: `${sum('WRITE_OFF')}` },
    ...{ staking: `${sum('STAKING')}`, paid: `${-sum('CHARGE', 'REFUND', 'WRITE_OFF', 'STAKING')}` },
  }
}

/** The names of the keys of some entries or holds. */
async function keyNames({ read }: Reading, account: string, rows: readonly { api_key: string | null }[]) {
  const ids = [...new Set(rows.flatMap(({ api_key }) => api_key ?? []))]
  if (ids.length === 0) return new Map<string, string>()
  const keys = await read
    .selectFrom('api_key')
    .select(['id', 'label', 'prefix'])
    .where('id', 'in', ids)
    .where('account', '=', account)
    .execute()
  return new Map(keys.map(({ id, label, prefix }) => [id, label || `${prefix}…`]))
}

/** One request; null if it is not in the ledger, or if this session may not see it. */
export async function request(
  reading: Reading,
  { scope, request: id }: { scope: Scope; request: string },
): Promise<Omit<RequestView, 'receipt'> | null> {
  const { read } = reading
  const [entries, hold, job] = await Promise.all([
    entriesOf(reading, scope.account, [id]),
    read
      .selectFrom('hold')
      .select(['account', 'amount', 'api_key', 'created_at_ms'])
      .where('id', '=', id)
      .executeTakeFirst(),
    read
      .selectFrom('job')
      .select(['account', 'state', 'failure'])
      .where('request', '=', id)
      .where('account', '=', scope.account)
      .executeTakeFirst(),
  ])
  const own = hold?.account === scope.account ? hold : undefined
  const caller = (entries.find(({ kind }) => kind === 'CHARGE') ?? own)?.api_key ?? null
  if (entries.length === 0 && !own) return null
  if (scope.key !== null && caller !== scope.key) return null
  const names = await keyNames(reading, scope.account, [...entries, ...(own ? [own] : [])])
  const row = rowOf(id, entries, names)
  const lines = entries.filter(({ kind }) => kind === 'CHARGE').toSorted((one, other) => one.line - other.line)
  return {
    ...row,
    ...(own && entries.length === 0 ? { atMs: own.created_at_ms, key: names.get(own.api_key ?? '') ?? null } : {}),
    hold: own ? `${own.amount}` : null,
    lines: lines.map(({ sku, units, unit_price_pico_usd, amount }) => ({
      ...{
        sku: sku ?? '',
        units: `${units ?? 0n}`,
        unitPricePico: `${unit_price_pico_usd ?? 0n}`,
        amount: `${amount}`,
      },
    })),
    refundReason: entries.find(({ kind }) => kind === 'REFUND')?.reason ?? null,
    job: job ? { state: job.state, failure: reasonOf(job.failure) } : null,
  }
}

const reasonOf = (failure: string | null): string | null =>
  failure === null ? null : ((JSON.parse(failure) as { reason?: string }).reason ?? null)

/** Calls in flight, with the amounts that they hold. */
export async function holds(
  reading: Reading,
  { scope: { account, key } }: { scope: Scope },
): Promise<{ holds: HoldRow[]; openHolds: number }> {
  let open = reading.read.selectFrom('hold').where('account', '=', account)
  if (key !== null) open = open.where('api_key', '=', key)
  const [rows, counted] = await Promise.all([
    open
      .select(['id', 'amount', 'api_key', 'created_at_ms'])
      .orderBy('created_at_ms', 'desc')
      .orderBy('id')
      .limit(shownHolds)
      .execute(),
    open.select(sql<number>`CAST(count(*) AS bigint)`.as('n')).executeTakeFirstOrThrow(),
  ])
  const names = await keyNames(reading, account, rows)
  return {
    holds: rows.map(({ id, amount, api_key, created_at_ms }) => ({
      ...{ request: id, amount: `${amount}`, sinceMs: created_at_ms },
      key: api_key === null ? null : (names.get(api_key) ?? api_key),
    })),
    openHolds: counted.n,
  }
}
