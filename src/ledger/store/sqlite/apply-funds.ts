import type { DatabaseSync } from 'node:sqlite'
import type { BudgetPeriod, PeriodStarts } from '../account-ops.ts'
import type { Hold } from '../units.ts'
import { type ApiKey, type Known, type Limits, prepareExact } from './work.ts'

/** What a hold uses in addition to its account's USD. */
export interface Sources {
  staking: { account: string; dayMs: number; granted: bigint } | null
  budget: { key: string; period: BudgetPeriod; startMs: number; limits: Limits } | null
}

/** How an amount is divided among the sources, staking credit first. */
export interface Split {
  usd: bigint
  staking: bigint
}

export interface Funds {
  key(id: string): ApiKey | null
  split(amount: bigint, sources: Sources): Split
  /** Whether the key's budget covers the USD part. */
  covers(usd: bigint, sources: Sources): boolean
  /** Whether a period's limits cover what has been used of it. */
  coversUsed(period: NonNullable<Sources['budget']>): boolean
  reserve(split: Split, sources: Sources): void
  /** Ends what was held; part of it was spent. */
  settle(held: Split, spent: Split, sources: Sources): void
  giveBack(spent: Split, sources: Sources): void
}

/**
 * The daily staking credits and the budgets of keys. Reads what the transaction has written, so a unit's operations add
 * up.
 */
export function fundsIn(database: DatabaseSync, known: Known<ApiKey>): Funds {
  const keys = keyReader(database)
  const uses = keyUses(database)
  const days = stakingDays(database)
  return {
    key(id) {
      const key = known.get(id) ?? keys(id)
      if (key) known.set(id, key)
      return key
    },
    split(amount, { staking, budget }) {
      const dayFree = staking ? days.free(staking) : 0n
      const keyFree =
        budget && budget.limits.staking !== null ? budget.limits.staking - uses.read(budget).staking : null
      const free = keyFree !== null && keyFree < dayFree ? keyFree : dayFree
      const part = free <= 0n ? 0n : free < amount ? free : amount
      return { usd: amount - part, staking: part }
    },
    covers: (usd, { budget }) =>
      !budget || budget.limits.usd === null || budget.limits.usd - uses.read(budget).usd >= usd,
    coversUsed(period) {
      const used = uses.read(period)
      const { usd, staking } = period.limits
      return (usd === null || used.usd <= usd) && (staking === null || used.staking <= staking)
    },
    reserve(split, { staking, budget }) {
      if (staking) days.reserve(staking, split.staking)
      if (budget) uses.reserve(budget, split)
    },
    settle(held, spent, { staking, budget }) {
      if (staking) days.move(staking, -held.staking, spent.staking)
      if (budget) uses.move(budget, { usd: -held.usd, staking: -held.staking }, spent)
    },
    giveBack(spent, { staking, budget }) {
      if (staking) days.move(staking, 0n, -spent.staking)
      if (budget) uses.move(budget, { usd: 0n, staking: 0n }, { usd: -spent.usd, staking: -spent.staking })
    },
  }
}

/** What a new hold uses. The budget's period decides from which of the given starts it counts. */
export function sourcesOf(op: Hold, key: ApiKey | null): Sources {
  const staking = op.staking ? { account: op.account, ...op.staking } : null
  if (!op.key || !key?.budget) return { staking, budget: null }
  const { period, limits } = key.budget
  return { staking, budget: { key: op.key.key, period, startMs: startOf(period, op.key), limits } }
}

export const startOf = (period: BudgetPeriod, { epochStartMs, monthStartMs }: PeriodStarts): number =>
  ({ epoch: epochStartMs, month: monthStartMs, lifetime: 0 })[period]

function keyReader(database: DatabaseSync): (id: string) => ApiKey | null {
  const select = prepareExact(
    database,
    'SELECT account, revoked_at_ms, budget_period, budget_usd, budget_staking_usd FROM api_key WHERE id = ?',
  )
  return id => {
    const row = select.get(id) as KeyRow | undefined
    if (!row) return null
    const limits = { usd: row.budget_usd, staking: row.budget_staking_usd }
    const budget = row.budget_period ? { period: row.budget_period, limits } : null
    return { account: row.account, revoked: row.revoked_at_ms !== null, budget }
  }
}

interface KeyRow {
  account: string
  revoked_at_ms: bigint | null
  budget_period: BudgetPeriod | null
  budget_usd: bigint | null
  budget_staking_usd: bigint | null
}

type Period = NonNullable<Sources['budget']>

function keyUses(database: DatabaseSync) {
  const select = prepareExact(
    database,
    `SELECT spent_usd + held_usd AS usd, spent_staking_usd + held_staking_usd AS staking FROM key_use
    WHERE key = ? AND period = ? AND start_ms = ?`,
  )
  const reserve = database.prepare(
    `INSERT INTO key_use (key, period, start_ms, held_usd, held_staking_usd) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET held_usd = held_usd + excluded.held_usd,
      held_staking_usd = held_staking_usd + excluded.held_staking_usd`,
  )
  const move = database.prepare(
    `UPDATE key_use SET held_usd = held_usd + ?, held_staking_usd = held_staking_usd + ?, spent_usd = spent_usd + ?,
      spent_staking_usd = spent_staking_usd + ? WHERE key = ? AND period = ? AND start_ms = ?`,
  )
  return {
    read: ({ key, period, startMs }: Period): Split =>
      (select.get(key, period, startMs) as unknown as Split | undefined) ?? { usd: 0n, staking: 0n },
    reserve: ({ key, period, startMs }: Period, { usd, staking }: Split) =>
      void reserve.run(key, period, startMs, usd, staking),
    move: ({ key, period, startMs }: Period, held: Split, spent: Split) =>
      void move.run(held.usd, held.staking, spent.usd, spent.staking, key, period, startMs),
  }
}

type Day = NonNullable<Sources['staking']>

function stakingDays(database: DatabaseSync) {
  const select = prepareExact(
    database,
    'SELECT spent_usd + held_usd AS used FROM staking_credit WHERE account = ? AND day_ms = ?',
  )
  const reserve = database.prepare(
    `INSERT INTO staking_credit (account, day_ms, granted_usd, held_usd) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET granted_usd = excluded.granted_usd, held_usd = held_usd + excluded.held_usd`,
  )
  const move = database.prepare(
    'UPDATE staking_credit SET held_usd = held_usd + ?, spent_usd = spent_usd + ? WHERE account = ? AND day_ms = ?',
  )
  return {
    free({ account, dayMs, granted }: Day): bigint {
      const row = select.get(account, dayMs) as { used: bigint } | undefined
      return granted - (row?.used ?? 0n)
    },
    reserve: ({ account, dayMs, granted }: Day, amount: bigint) => void reserve.run(account, dayMs, granted, amount),
    move: ({ account, dayMs }: Day, held: bigint, spent: bigint) => void move.run(held, spent, account, dayMs),
  }
}
