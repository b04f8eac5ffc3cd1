import { sql } from 'kysely'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import type { Store } from '../store/store.ts'

/**
 * What an open hold may still be extended by. It draws on its own day of staking credit and its own period of the key's
 * budget, whatever day it is by now, within the limits that it was opened with and those that its key has now. Another
 * call may take it first: only the extension decides.
 */
export async function leftForHold(store: Store, hold: string): Promise<MicroUsd> {
  const row = await store.read
    .selectFrom('hold as h')
    .innerJoin('account as a', 'a.id', 'h.account')
    .leftJoin('staking_credit as s', join =>
      join.onRef('s.account', '=', 'h.account').onRef('s.day_ms', '=', 'h.staking_day_ms'),
    )
    .leftJoin('api_key as k', 'k.id', 'h.api_key')
    .leftJoin('key_use as u', join =>
      join
        .onRef('u.key', '=', 'h.api_key')
        .onRef('u.period', '=', 'h.budget_period')
        .onRef('u.start_ms', '=', 'h.budget_start_ms'),
    )
    .where('h.id', '=', hold)
    .select([
      sql<bigint>`a.posted - a.held`.as('account_usd'),
      sql<bigint | null>`s.granted_usd - s.spent_usd - s.held_usd`.as('day_usd'),
      // Null where the hold had no budget, because then it counts in no period.
      sql<bigint | null>`u.spent_usd + u.held_usd`.as('used_usd'),
      sql<bigint | null>`u.spent_staking_usd + u.held_staking_usd`.as('used_staking_usd'),
      'h.budget_usd',
      'h.budget_staking_usd',
      'k.budget_usd as now_usd',
      'k.budget_staking_usd as now_staking_usd',
    ])
    .executeTakeFirst()
  if (!row) return microUsd(0n)
  const staking = within([row.budget_staking_usd, row.now_staking_usd], row.used_staking_usd, row.day_usd ?? 0n)
  return microUsd(staking + within([row.budget_usd, row.now_usd], row.used_usd, row.account_usd))
}

/** What of an amount the limits leave, of which so much is used. */
function within(limits: (bigint | null)[], used: bigint | null, amount: bigint): bigint {
  let most = amount
  for (const limit of limits) if (limit !== null && used !== null && limit - used < most) most = limit - used
  return notBelowZero(most)
}

const notBelowZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n)
