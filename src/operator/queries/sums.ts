import { type RawBuilder, sql } from 'kysely'
import { formatUsd } from '#contract/money.ts'
import { dayMs, dayOfText, textOfDay } from '#contract/time.ts'
import { addedUp, type DayRange, dayRows, inFilter, type SumFilter, type SumRow } from '#ledger/accounts/day-sums.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Sums } from '#pages/console/answers.ts'
import { refuse } from '../operator-refused.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

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

const sumExpressions: Readonly<Record<keyof SumRow, string>> = {
  requests: 'CAST(coalesce(sum(requests), 0) AS bigint)',
  charged_usd: sumOf('CHARGE', '-'),
  refunded_usd: sumOf('REFUND'),
  written_off_usd: sumOf('WRITE_OFF'),
  staking_usd: sumOf('STAKING'),
  topped_up_usd: sumOf('TOP_UP'),
  granted_usd: sumOf('GRANT'),
}

/** The columns of a query on `day_sum`, with a prefix if a query has two kinds of sums. */
export const sumColumnsAs = <Prefix extends string>(prefix: Prefix): RawBuilder<unknown> =>
  sql.raw(
    Object.entries(sumExpressions)
      .map(([name, expression]) => `${expression} AS ${prefix}${name}`)
      .join(),
  )
export const sumColumns = sumColumnsAs('')

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

/** Totals; a row for each day, even without entries; models, the highest charges first. */
export async function sumsWithin(reading: Reading, filter: SumFilter, models: number) {
  const { totals, byDay, byModel } = addedUp(await dayRows(reading, filter), filter)
  return {
    totals: shownSums(totals),
    byDay: byDay.map(({ day, ...row }) => ({ day, ...shownSums(row) })),
    byModel: byModel.slice(0, models).map(({ model, ...row }) => ({ model, ...shownSums(row) })),
  }
}

/** Groups by kind first, so that `sumColumns` adds up only a few rows. `source` has the columns of `day_sum`. */
export function kindSums(source: RawBuilder<unknown>, columns: readonly string[] = []): RawBuilder<unknown> {
  const by = sql.raw([...columns, 'kind'].join())
  return sql`SELECT ${by}, CAST(sum(effect_usd) AS bigint) AS effect_usd, CAST(sum(requests) AS bigint) AS requests,
    CAST(sum(entries) AS bigint) AS entries FROM ${source} GROUP BY ${by}`
}

async function sumsByCustomer({ read }: Reading, filter: SumFilter, limit: number) {
  const { rows } = await sql<SumRow & { account: string; name: string | null }>`SELECT s.*, c.name FROM
    (SELECT account, ${sumColumns} FROM (${kindSums(sql`day_sum WHERE ${inFilter(filter)}`, ['account'])}) k GROUP BY account
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
