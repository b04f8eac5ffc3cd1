import { sql } from 'kysely'
import type { Store } from '#ledger/store/store.ts'
import type { EntryTable } from '#ledger/store/tables.ts'

/** What an account used on a day, of one model, product and key. */
export interface DailyUse {
  /** The model; the product of what has none. */
  what: string
  model: string | null
  sku: string | null
  api_key: string | null
  kind: EntryTable['kind']
  /** Signed, as the account's USD saw it. */
  effect_usd: bigint
  units: bigint
}

/**
 * One day at a time: what it costs is bounded by what the account did on that day, and others are answered in between. A
 * row without model and product (staking credit, a refund) belongs to what its request was charged for.
 */
export async function dailyUse(
  { read }: Pick<Store, 'read'>,
  { account, fromMs, toMs }: { account: string; fromMs: number; toMs: number },
): Promise<DailyUse[]> {
  const what = sql`coalesce(model, sku, (SELECT c.sku FROM entry c WHERE c.ref = 'charge:' || entry.request AND c.line = 0),
    'other')`
  const { rows } = await sql<DailyUse>`SELECT ${what} AS what, model, sku, api_key, kind,
      CAST(sum(effect) AS bigint) AS effect_usd, CAST(sum(coalesce(units, 0)) AS bigint) AS units
    FROM entry WHERE account = ${account} AND kind <> 'TOP_UP' AND kind <> 'GRANT'
      AND created_at_ms >= ${fromMs} AND created_at_ms < ${toMs}
    GROUP BY 1, 2, 3, 4, 5`.execute(read)
  return rows
}
