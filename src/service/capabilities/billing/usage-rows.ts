import { type RawBuilder, sql } from 'kysely'
import type { Store } from '#ledger/store/store.ts'
import type { EntryTable } from '#ledger/store/tables.ts'

/**
 * An entry of the books as an account sees its use: its effect on the USD of the account, and for what staking credit paid
 * a second row, of that credit. So the rows of a currency add up to what was paid in it.
 */
export interface UsageEntry {
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
  /** Which rows; both where absent. Other currencies have none. */
  currency?: string | undefined
  /** From this moment on, and up to this one. */
  fromMs?: number | undefined
  toMs?: number | undefined
}

export interface UsagePlace {
  createdAtMs: number
  seq: number
  part: 0 | 1
}

export interface UsagePage {
  order: 'asc' | 'desc'
  limit: number
  offset?: number
  /** Newest first alone: what follows this row. */
  after?: UsagePlace | null
}

const parts = [
  // Said with the words of the indexes `entry_of_use` and `entry_of_staking`, so that they serve.
  { part: 0, currency: 'USD', kinds: "kind <> 'TOP_UP' AND kind <> 'GRANT'" },
  { part: 1, currency: 'DIEM', kinds: "kind = 'STAKING'" },
] as const

type Part = (typeof parts)[number]

const wanted = ({ currency }: UsageFilter): readonly Part[] =>
  parts.filter(each => currency === undefined || each.currency === currency)

/** One page, in order of time and then of the books. */
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

/** All rows of a filter, counted in its index. */
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

/** The row itself is over; of the same entry the first row follows the second, newest first. */
function afterOf({ part }: Part, after: UsagePlace | null | undefined): RawBuilder<unknown> {
  if (!after) return sql``
  const than = sql.raw(part < after.part ? '<=' : '<')
  return sql` AND (created_at_ms, seq) ${than} (${after.createdAtMs}, ${after.seq})`
}
