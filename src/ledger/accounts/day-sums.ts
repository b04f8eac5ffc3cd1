import { type RawBuilder, sql } from 'kysely'
import { dayMs, textOfDay } from '#contract/time.ts'
import type { Store } from '../store/store.ts'

/**
 * Sums of entries by UTC day, from the daily sums that the ledger writes with each entry. They are exact for any number
 * of entries.
 */

/** Sums of some entries, in micro-USD from the customer's side; charges are positive. */
export interface SumRow {
  requests: number
  charged_usd: bigint
  refunded_usd: bigint
  written_off_usd: bigint
  staking_usd: bigint
  topped_up_usd: bigint
  granted_usd: bigint
}

/** What customers paid: charges less refunds, write-offs and staking credit. */
export const paidOf = (row: SumRow): bigint =>
  row.charged_usd - row.refunded_usd - row.written_off_usd - row.staking_usd

/** Milliseconds; `toMs` is excluded, and both are at midnight UTC. */
export interface DayRange {
  fromMs: number
  toMs: number
}

export interface SumFilter extends DayRange {
  customer?: string | undefined
  model?: string | undefined
}

export const inFilter = ({ fromMs, toMs, customer, model }: SumFilter): RawBuilder<unknown> =>
  sql`day_ms >= ${fromMs} AND day_ms < ${toMs}${customer === undefined ? sql`` : sql` AND account = ${customer}`}${
    model === undefined ? sql`` : sql` AND model = ${model}`
  }`

type Reading = Pick<Store, 'read'>

export interface KindRow {
  kind: string
  effect_usd: bigint
  requests: number
}

export type DayRow = KindRow & { day_ms: number; model: string }

/** Adds up rows of several kinds: a database does this faster than sums in separate columns. */
export function sumsOf(rows: readonly KindRow[]): SumRow {
  const of = (kind: string) => rows.reduce((sum, row) => (row.kind === kind ? sum + row.effect_usd : sum), 0n)
  const requests = rows.reduce((sum, row) => (row.kind === 'CHARGE' ? sum + row.requests : sum), 0)
  return {
    ...{ requests, charged_usd: -of('CHARGE'), refunded_usd: of('REFUND'), written_off_usd: of('WRITE_OFF') },
    ...{ staking_usd: of('STAKING'), topped_up_usd: of('TOP_UP'), granted_usd: of('GRANT') },
  }
}

/** Reads the sums of a range once, to compute its totals, days and models. */
export async function dayRows({ read }: Reading, filter: SumFilter): Promise<DayRow[]> {
  const { rows } = await sql<DayRow>`SELECT day_ms, model, kind,
      CAST(sum(effect_usd) AS bigint) AS effect_usd, CAST(sum(requests) AS bigint) AS requests
    FROM day_sum WHERE ${inFilter(filter)} GROUP BY day_ms, model, kind`.execute(read)
  return rows
}

/** Returns the sums of one API key. The ledger keeps none, so this adds up the key's own entries. */
export async function keyDayRows(
  { read }: Reading,
  { key, fromMs, toMs }: DayRange & { key: string },
): Promise<DayRow[]> {
  const { rows } = await sql<DayRow>`SELECT created_at_ms - created_at_ms % ${sql.lit(dayMs)} AS day_ms,
      coalesce(model, '') AS model, kind, CAST(sum(effect) AS bigint) AS effect_usd,
      CAST(sum(CASE WHEN kind = 'CHARGE' AND line = 0 THEN 1 ELSE 0 END) AS bigint) AS requests
    FROM entry WHERE api_key = ${key} AND created_at_ms >= ${fromMs} AND created_at_ms < ${toMs}
    GROUP BY 1, 2, 3`.execute(read)
  return rows
}

/** Totals; a row for each day, also for days without entries; models, the most charged first. */
export function addedUp(rows: readonly DayRow[], { fromMs, toMs }: DayRange) {
  const ofDay = Map.groupBy(rows, row => row.day_ms)
  const days = Math.min((toMs - fromMs) / dayMs, mostDays)
  const byDay = Array.from({ length: days }, (_, place) => {
    const atMs = toMs - (days - place) * dayMs
    return { day: textOfDay(atMs), ...sumsOf(ofDay.get(atMs) ?? []) }
  })
  const ofModel = Map.groupBy(
    rows.filter(({ model }) => model !== ''),
    row => row.model,
  )
  const byModel = [...ofModel].map(([model, of]) => ({ model, ...sumsOf(of) })).sort(mostChargedFirst)
  return { totals: sumsOf(rows), byDay, byModel }
}

function mostChargedFirst(one: SumRow & { model: string }, other: SumRow & { model: string }): number {
  if (one.charged_usd !== other.charged_usd) return one.charged_usd > other.charged_usd ? -1 : 1
  return one.model < other.model ? -1 : 1
}

/** Days in one chart: two years. Of a longer range, the latest ones. */
const mostDays = 731
