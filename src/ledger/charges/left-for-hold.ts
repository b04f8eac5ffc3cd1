import { sql } from 'kysely'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import type { Store } from '../store/store.ts'

/**
 * What an open hold may still be extended by. It draws on its own day of staking credit and its own period of the key's
 * budget, whatever day it is by now. Another call may take it first: only the extension decides.
 */
export async function leftForHold(store: Store, hold: string): Promise<MicroUsd> {
  const row = await store.read
    .selectFrom('hold as h')
    .innerJoin('account as a', 'a.id', 'h.account')
    .leftJoin('staking_credit as s', join =>
      join.onRef('s.account', '=', 'h.account').onRef('s.day_ms', '=', 'h.staking_day_ms'),
    )
    // A budget that goes by another period by now says nothing about this one.
    .leftJoin('api_key as k', join =>
      join.onRef('k.id', '=', 'h.api_key').onRef('k.budget_period', '=', 'h.budget_period'),
    )
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
      sql<bigint | null>`k.budget_usd - u.spent_usd - u.held_usd`.as('key_usd'),
      sql<bigint | null>`k.budget_staking_usd - u.spent_staking_usd - u.held_staking_usd`.as('key_staking_usd'),
    ])
    .executeTakeFirst()
  if (!row) return microUsd(0n)
  const staking = atMost(row.key_staking_usd, row.day_usd ?? 0n)
  return microUsd(notBelowZero(staking) + notBelowZero(atMost(row.key_usd, row.account_usd)))
}

const atMost = (limit: bigint | null, amount: bigint): bigint => (limit !== null && limit < amount ? limit : amount)

const notBelowZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n)
