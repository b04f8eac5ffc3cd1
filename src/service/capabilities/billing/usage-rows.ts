import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/errors/issues.ts'
import { formatUsd, toUsdNumber } from '#contract/money.ts'
import type { UsageRow } from '#contract/operations/billing.ts'
import { csvText, decimalUsd, picoPerUsd } from '#ledger/audit/csv.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EntryTable } from '#ledger/store/tables.ts'

/**
 * A ledger entry as an account sees its use: its effect on the account's USD, and a second row for the part that
 * staking credit paid. So the rows of each currency add up to what was paid in it.
 */
interface UsageEntry {
  seq: number
  created_at_ms: number
  /** 1 for the second row of an entry. */
  part: 0 | 1
  kind: EntryTable['kind']
  effect: bigint
  request: string | null
  model: string | null
  sku: string | null
  units: bigint | null
  unit_price_pico_usd: bigint | null
  reason: string | null
}

export interface UsageFilter {
  account: string
  /** Which rows to include; both if absent. Other currencies have none. */
  currency?: string | undefined
  /** From this moment on, and up to this one. */
  fromMs?: number | undefined
  toMs?: number | undefined
}

interface UsagePlace {
  createdAtMs: number
  seq: number
  part: 0 | 1
}

interface UsagePage {
  order: 'asc' | 'desc'
  limit: number
  offset?: number
  /** Only for newest first: rows after this one. */
  after?: UsagePlace | null
}

const parts = [
  // Worded like the conditions of the indexes `entry_of_use` and `entry_of_staking`, so that they are used.
  { part: 0, currency: 'USD', kinds: "kind <> 'TOP_UP' AND kind <> 'GRANT'" },
  { part: 1, currency: 'DIEM', kinds: "kind = 'STAKING'" },
] as const

type Part = (typeof parts)[number]

const wanted = ({ currency }: UsageFilter): readonly Part[] =>
  parts.filter(each => currency === undefined || each.currency === currency)

/** Returns one page, ordered by time and then by ledger position. */
export async function usagePage({ read }: Pick<Store, 'read'>, filter: UsageFilter, page: UsagePage) {
  const asked = wanted(filter)
  if (asked.length === 0) return []
  const selects = asked.map(each => {
    const what = sql`SELECT seq, created_at_ms, ${sql.raw(`${each.part}`)} AS part, kind, effect, request, model, sku,
      units, unit_price_pico_usd, reason FROM entry`
    return sql`${what} WHERE ${conditions(filter, each)}${afterOf(each, page.after)}`
  })
  const order = sql.raw(page.order)
  const rows = sql<UsageEntry>`${sql.join(selects, sql` UNION ALL `)}
    ORDER BY created_at_ms ${order}, seq ${order}, part ${order} LIMIT ${page.limit} OFFSET ${page.offset ?? 0}`
  return (await rows.execute(read)).rows
}

/** Counts the rows of a filter in its index. */
export async function usageCount({ read }: Pick<Store, 'read'>, filter: UsageFilter): Promise<number> {
  const counts = await Promise.all(
    wanted(filter).map(each =>
      sql<{
        rows: number
      }>`SELECT CAST(count(*) AS bigint) AS rows FROM entry WHERE ${conditions(filter, each)}`.execute(read),
    ),
  )
  return counts.reduce((sum, { rows }) => sum + Number(rows[0]?.rows ?? 0), 0)
}

function conditions({ account, fromMs, toMs }: UsageFilter, { kinds }: Part): RawBuilder<unknown> {
  const from = fromMs === undefined ? sql`` : sql` AND created_at_ms >= ${fromMs}`
  const to = toMs === undefined ? sql`` : sql` AND created_at_ms <= ${toMs}`
  return sql`account = ${account} AND ${sql.raw(kinds)}${from}${to}`
}

/** The row itself is excluded. With newest first, the first row of an entry follows the second. */
function afterOf({ part }: Part, after: UsagePlace | null | undefined): RawBuilder<unknown> {
  if (!after) return sql``
  const than = sql.raw(part < after.part ? '<=' : '<')
  return sql` AND (created_at_ms, seq) ${than} (${after.createdAtMs}, ${after.seq})`
}

/** Returns a row with amounts as in the ledger, for both output formats. */
function factsOf(entry: UsageEntry) {
  const { part, kind, effect, sku, model, units, unit_price_pico_usd: price } = entry
  const amount = part === 1 ? effect : -effect
  const isLine = kind === 'CHARGE' && units !== null && price !== null
  const size = amount < 0n ? -amount : amount
  const name = sku ?? kindNames[kind] ?? kind
  return {
    timestamp: new Date(entry.created_at_ms).toISOString(),
    sku: model === null ? name : `${model}:${name}`,
    units: isLine ? units : 1n,
    pricePicoUsd: isLine ? price : size * 1_000_000n,
    amount,
    currency: part === 1 ? ('DIEM' as const) : ('USD' as const),
    notes: notesOf(entry),
    requestId: entry.request,
    promptTokens: isLine && sku?.startsWith('chat.input') ? units : null,
    completionTokens: isLine && sku?.startsWith('chat.output') ? units : null,
  }
}

/** Kinds of rows that are not lines of a charge. */
const kindNames: Partial<Record<UsageEntry['kind'], string>> = {
  REFUND: 'refund',
  STAKING: 'staking.credit',
  WRITE_OFF: 'write.off',
}

function notesOf({ kind, effect, part, reason }: UsageEntry): string {
  switch (kind) {
    case 'CHARGE':
      return 'API Inference'
    case 'REFUND':
      return reason ? `Refund: ${reason}` : 'Refund'
    case 'WRITE_OFF':
      return 'Not charged: it cost more than the hold'
    default:
      if (part === 1) return effect < 0n ? 'Staking credit returned by a refund' : 'Paid with staking credit'
      return effect < 0n ? 'Refund of a payment with staking credit' : 'Paid with staking credit instead'
  }
}

export function shownUsage(entry: UsageEntry): UsageRow {
  const { units, pricePicoUsd, amount, requestId, promptTokens, completionTokens, ...rest } = factsOf(entry)
  return {
    ...rest,
    units: Number(units),
    pricePerUnitUsd: Number(pricePicoUsd) / Number(picoPerUsd),
    amount: toUsdNumber(amount),
    inferenceDetails: {
      requestId,
      promptTokens: promptTokens === null ? null : Number(promptTokens),
      completionTokens: completionTokens === null ? null : Number(completionTokens),
      inferenceExecutionTime: null,
    },
  }
}

type Facts = ReturnType<typeof factsOf>

/** New columns are only added at the end, so that readers by position keep working. */
const columns: readonly [name: string, value: (facts: Facts) => string][] = [
  ['timestamp', facts => facts.timestamp],
  ['sku', facts => csvText(facts.sku)],
  ['units', facts => `${facts.units}`],
  ['pricePerUnitUsd', facts => decimalUsd(facts.pricePicoUsd)],
  ['amount', facts => formatUsd(facts.amount)],
  ['currency', facts => facts.currency],
  ['notes', facts => csvText(facts.notes)],
  ['requestId', facts => csvText(facts.requestId)],
  ['promptTokens', facts => `${facts.promptTokens ?? ''}`],
  ['completionTokens', facts => `${facts.completionTokens ?? ''}`],
]

/** Formats rows by RFC 4180; amounts are exact decimals. */
export const usageCsv = (entries: readonly UsageEntry[]): string =>
  [columns.map(([name]) => name), ...entries.map(factsOf).map(facts => columns.map(([, value]) => value(facts)))]
    .map(cells => `${cells.join(',')}\r\n`)
    .join('')

/**
 * Whether the caller prefers CSV: the one that comes first in its Accept header counts, and JSON if neither is there.
 */
export function wantsCsv(accepted: readonly string[]): boolean {
  const types = accepted.flatMap(value => value.split(',')).map(part => part.split(';')[0]?.trim().toLowerCase())
  return types.find(type => type === 'text/csv' || type === 'application/json' || type === '*/*') === 'text/csv'
}

/** Returns the cursor of the next page, after this row. It is opaque to callers and useless for another account. */
export const cursorOf = ({ created_at_ms, seq, part }: UsageEntry): string =>
  Buffer.from(`${created_at_ms}.${seq}.${part}`).toString('base64url')

/** Throws 400 for an invalid cursor. */
export function readCursor(cursor: string): UsagePlace {
  const place = /^(\d{1,15})\.(\d{1,15})\.([01])$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (place) return { createdAtMs: Number(place[1]), seq: Number(place[2]), part: place[3] === '1' ? 1 : 0 }
  throw fieldError(['cursor'], 'Must be nextCursor of an earlier page; leave it out to start with the newest')
}
