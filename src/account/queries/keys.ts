import { sql } from 'kysely'
import { dayMs } from '#contract/time.ts'
import { nextPeriodMs, periodStarts } from '#ledger/accounts/keys.ts'
import type { KeyRow } from '#pages/account/wire.ts'
import type { ListPage } from '#pages/kit/wire.ts'
import type { Reading } from './sums.ts'

const pageKeys = 50
const spentDays = 30

export interface KeyFilter {
  state: 'active' | 'ended'
  /** `next` of the previous page. */
  after?: string | undefined
}

/** Keys of an account, newest first, with what each has spent. A key's own index finds its entries. */
export async function keys(
  { read }: Reading,
  { account, filter: { state, after } }: { account: string; filter: KeyFilter },
  nowMs: number,
): Promise<ListPage<KeyRow>> {
  const { epochStartMs, monthStartMs } = periodStarts(nowMs)
  const sinceMs = epochStartMs - (spentDays - 1) * dayMs
  const isActive = sql<boolean>`revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ${nowMs})`
  const wanted = read
    .selectFrom('api_key')
    .where('account', '=', account)
    .where(state === 'active' ? isActive : sql<boolean>`NOT (${isActive})`)
  const use = (column: 'spent_usd' | 'held_usd' | 'spent_staking_usd') =>
    sql<bigint | null>`(SELECT u.${sql.ref(column)} FROM key_use u WHERE u.key = api_key.id
      AND u.period = api_key.budget_period AND u.start_ms = CASE api_key.budget_period
        WHEN 'epoch' THEN CAST(${epochStartMs} AS bigint) WHEN 'month' THEN CAST(${monthStartMs} AS bigint) ELSE 0 END)`
  const [rows, counted] = await Promise.all([
    (after === undefined ? wanted : wanted.where('id', '<', after))
      .selectAll()
      .select([
        use('spent_usd').as('used_usd'),
        use('held_usd').as('used_held_usd'),
        use('spent_staking_usd').as('used_staking_usd'),
        sql<number | null>`(SELECT max(e.created_at_ms) FROM entry e WHERE e.api_key = api_key.id)`.as('last_used_ms'),
        sql<bigint | null>`(SELECT CAST(-sum(e.effect) AS bigint) FROM entry e
          WHERE e.api_key = api_key.id AND e.created_at_ms >= ${sinceMs})`.as('paid_usd'),
      ])
      .orderBy('id', 'desc')
      .limit(pageKeys + 1)
      .execute(),
    wanted.select(sql<number>`CAST(count(*) AS bigint)`.as('n')).executeTakeFirstOrThrow(),
  ])
  const shown = rows.slice(0, pageKeys)
  const text = (amount: bigint | null) => (amount === null ? null : `${amount}`)
  return {
    rows: shown.map(row => ({
      ...{ id: row.id, prefix: row.prefix, label: row.label, role: row.role },
      state:
        row.revoked_at_ms !== null
          ? 'revoked'
          : row.expires_at_ms !== null && row.expires_at_ms <= nowMs
            ? 'expired'
            : 'active',
      ...{ createdAtMs: row.created_at_ms, expiresAtMs: row.expires_at_ms, lastUsedMs: row.last_used_ms },
      paid: `${row.paid_usd ?? 0n}`,
      budget:
        row.budget_period === null
          ? null
          : {
              ...{ period: row.budget_period, usd: text(row.budget_usd), staking: text(row.budget_staking_usd) },
              ...{ usedUsd: `${row.used_usd ?? 0n}`, heldUsd: `${row.used_held_usd ?? 0n}` },
              usedStaking: `${row.used_staking_usd ?? 0n}`,
              nextMs: nextPeriodMs(row.budget_period, nowMs),
            },
    })),
    total: counted.n,
    next: rows.length > pageKeys ? (shown.at(-1)?.id ?? null) : null,
  }
}
