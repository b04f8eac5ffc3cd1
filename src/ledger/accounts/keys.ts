import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import type { BudgetPeriod, KeyBudget, PeriodStarts } from '../store/account-ops.ts'
import type { Store } from '../store/store.ts'

/** Returns the starts of the UTC day and month that contain `atMs`. */
export function periodStarts(atMs: number): PeriodStarts {
  const date = new Date(atMs)
  return { epochStartMs: atMs - (atMs % dayMs), monthStartMs: Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) }
}

const startOf = (period: BudgetPeriod, atMs: number): number => {
  const { epochStartMs, monthStartMs } = periodStarts(atMs)
  return { epoch: epochStartMs, month: monthStartMs, lifetime: 0 }[period]
}

/** Returns when the period after the current one begins; null if there is none. */
export function nextPeriodMs(period: BudgetPeriod, atMs: number): number | null {
  if (period === 'lifetime') return null
  if (period === 'epoch') return startOf(period, atMs) + dayMs
  const date = new Date(atMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/** Returns how much of a key's budget is left in its current period; null if it sets no limit. */
export async function budgetLeft(
  store: Pick<Store, 'read'>,
  key: string,
  budget: KeyBudget,
  atMs: number,
): Promise<{ usd: MicroUsd | null; staking: MicroUsd | null }> {
  const use = await store.read
    .selectFrom('key_use')
    .selectAll()
    .where('key', '=', key)
    .where('period', '=', budget.period)
    .where('start_ms', '=', startOf(budget.period, atMs))
    .executeTakeFirst()
  const left = (limit: MicroUsd | null, used: bigint) => {
    if (limit === null) return null
    return limit > used ? microUsd(limit - used) : zeroUsd
  }
  return {
    usd: left(budget.usd, use ? use.spent_usd + use.held_usd : 0n),
    staking: left(budget.staking, use ? use.spent_staking_usd + use.held_staking_usd : 0n),
  }
}

/** Returns which of these keys are no longer active: revoked, expired, or gone. */
export async function endedKeys(store: Store, keys: readonly string[], nowMs: number): Promise<Set<string>> {
  const rows = await store.read
    .selectFrom('api_key')
    .select(['id', 'revoked_at_ms', 'expires_at_ms'])
    .where('id', 'in', [...keys])
    .execute()
  const good = rows.filter(
    row => row.revoked_at_ms === null && (row.expires_at_ms === null || row.expires_at_ms > nowMs),
  )
  const ended = new Set(keys)
  for (const { id } of good) ended.delete(id)
  return ended
}
