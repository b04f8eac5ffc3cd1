import type { DatabaseSync } from 'node:sqlite'
import { type Hold, storeOwed } from '../units.ts'
import { type Funds, type Sources, type Split, sourcesOf } from './apply-funds.ts'
import {
  type Appliers,
  type Balances,
  type Known,
  type Limits,
  type OpenHold,
  prepareExact,
  type Work,
} from './work.ts'

export interface OpenHolds {
  find(id: string): OpenHold | null
  open(hold: OpenHold, atMs: number): void
  /** The part `staking` of the amount is daily credit. */
  grow(hold: OpenHold, amount: bigint, staking: bigint): void
  renew(hold: OpenHold, untilMs: number, owed: string | null): void
  /** Frees the whole hold; `spent` of it is gone. */
  end(hold: OpenHold, how: 'captured' | 'released', spent: Split, work: Work): void
}

const heldOf = (hold: OpenHold): Split => ({ usd: hold.amount - hold.staking_usd, staking: hold.staking_usd })

const noSplit: Split = { usd: 0n, staking: 0n }

/** What an open hold uses. The day's granted amount is unknown here; an extension reads it. */
const sourcesOfHold = ({ account, staking_day_ms, api_key, budget_period, ...hold }: OpenHold): Sources => ({
  staking: staking_day_ms === null ? null : { account, dayMs: staking_day_ms, granted: 0n },
  budget:
    api_key === null || budget_period === null
      ? null
      : {
          key: api_key,
          period: budget_period,
          startMs: hold.budget_start_ms ?? 0,
          limits: { usd: hold.budget_usd, staking: hold.budget_staking_usd },
        },
})

const lowerLimits = (one: Limits, other: Limits | undefined): Limits =>
  other ? { usd: lower(one.usd, other.usd), staking: lower(one.staking, other.staking) } : one

/** Null is unlimited. */
const lower = (one: bigint | null, other: bigint | null): bigint | null =>
  one === null || (other !== null && other < one) ? other : one

export function openHoldsIn(
  database: DatabaseSync,
  { balances, funds, known }: { balances: Balances; funds: Funds; known: Known<OpenHold> },
): OpenHolds {
  const read = holdReader(database)
  const insert = database.prepare(
    `INSERT INTO hold (id, account, amount, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms,
      budget_usd, budget_staking_usd, lease_owner, lease_until_ms, created_at_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const grow = database.prepare('UPDATE hold SET amount = ?, staking_usd = ? WHERE id = ?')
  const renew = database.prepare('UPDATE hold SET lease_until_ms = ?, owed = coalesce(?, owed) WHERE id = ?')
  const remove = database.prepare('DELETE FROM hold WHERE id = ?')
  const insertEnded = database.prepare('INSERT INTO ended_hold (id, how) VALUES (?, ?)')
  return {
    find(id) {
      const hold = known.get(id) ?? read(id)
      if (hold) known.set(id, hold)
      return hold
    },
    open(hold, atMs) {
      const { id, account, amount, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms } = hold
      const drawnOn = [staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms] as const
      const limits = [hold.budget_usd, hold.budget_staking_usd] as const
      insert.run(id, account, amount, ...drawnOn, ...limits, hold.lease_owner, hold.lease_until_ms, atMs)
      known.set(id, hold)
    },
    grow(hold, amount, staking) {
      const grown = { ...hold, amount: hold.amount + amount, staking_usd: hold.staking_usd + staking }
      grow.run(grown.amount, grown.staking_usd, hold.id)
      known.set(hold.id, grown)
    },
    renew(hold, untilMs, owed) {
      renew.run(untilMs, owed, hold.id)
      known.set(hold.id, { ...hold, lease_until_ms: untilMs })
    },
    end(hold, how, spent, work) {
      const before = balances.read(hold.account, work)
      if (!before) throw new Error(`The account ${hold.account} of an open hold is missing.`)
      const held = heldOf(hold)
      remove.run(hold.id)
      known.delete(hold.id)
      insertEnded.run(hold.id, how)
      funds.settle(held, spent, sourcesOfHold(hold))
      balances.move(before, -spent.usd, -held.usd, work)
    },
  }
}

function holdReader(database: DatabaseSync): (id: string) => OpenHold | null {
  const select = prepareExact(
    database,
    `SELECT id, account, amount, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms, budget_usd,
      budget_staking_usd, lease_owner, lease_until_ms FROM hold WHERE id = ?`,
  )
  return id => {
    const row = select.get(id) as StoredHold | undefined
    if (!row) return null
    const [dayMs, startMs] = [row.staking_day_ms, row.budget_start_ms]
    return {
      ...row,
      staking_day_ms: dayMs === null ? null : Number(dayMs),
      budget_start_ms: startMs === null ? null : Number(startMs),
      lease_until_ms: Number(row.lease_until_ms),
    }
  }
}

interface StoredHold extends Omit<OpenHold, 'staking_day_ms' | 'budget_start_ms' | 'lease_until_ms'> {
  staking_day_ms: bigint | null
  budget_start_ms: bigint | null
  lease_until_ms: bigint
}

function holdStatements(database: DatabaseSync) {
  const idUsed = database.prepare('SELECT 1 FROM hold WHERE id = ?1 UNION ALL SELECT 1 FROM ended_hold WHERE id = ?1')
  const readOnly = database.prepare("SELECT 1 FROM ledger_state WHERE state = 'read_only'")
  const openOf = database.prepare('SELECT count(*) AS n FROM hold WHERE account = ?')
  const grantedOn = prepareExact(
    database,
    'SELECT granted_usd AS granted FROM staking_credit WHERE account = ? AND day_ms = ?',
  )
  return { idUsed, readOnly, openOf, grantedOn }
}

export function holdAppliers(
  database: DatabaseSync,
  { balances, holds, funds }: { balances: Balances; holds: OpenHolds; funds: Funds },
): Appliers<'hold' | 'extend' | 'renew' | 'release'> {
  const { idUsed, readOnly, openOf, grantedOn } = holdStatements(database)

  /** What an extension uses: the hold's own day and period, within its own limits and its key's current ones. */
  function sourcesNow(hold: OpenHold): Sources {
    const { staking, budget } = sourcesOfHold(hold)
    const granted = staking && (grantedOn.get(staking.account, staking.dayMs) as { granted: bigint }).granted
    const now = budget && funds.key(budget.key)?.budget
    return {
      staking: staking && { ...staking, granted: granted ?? 0n },
      // Lower limits of another period count too: lowering a budget also applies to calls in flight.
      budget: budget && { ...budget, limits: lowerLimits(budget.limits, now?.limits) },
    }
  }

  return {
    hold(op, work) {
      const balance = balances.read(op.account, work)
      if (!balance) return 'no_account'
      const key = op.key ? funds.key(op.key.key) : null
      if (op.key && (!key || key.revoked || key.account !== op.account)) return 'no_key'
      if (idUsed.get(op.hold)) return 'hold_exists'
      if (balances.isSuspended(op.account)) return 'suspended'
      if (readOnly.get()) return 'read_only'
      const { mostOpen = null } = op
      if (mostOpen !== null && Number(openOf.get(op.account)?.n) >= mostOpen) return 'too_many_open'
      const sources = sourcesOf(op, key)
      const split = funds.split(op.amount, sources)
      if (balance.posted - balance.held < split.usd) return 'insufficient_funds'
      if (!funds.covers(split.usd, sources)) return 'over_budget'
      holds.open(freshHold(op, split, sources), op.atMs)
      funds.reserve(split, sources)
      balances.move(balance, 0n, split.usd, work)
      return null
    },
    extend(op, work) {
      const hold = holds.find(op.hold)
      const balance = hold && balances.read(hold.account, work)
      if (!hold || !balance) return 'no_hold'
      if (balances.isSuspended(hold.account)) return 'suspended'
      if (readOnly.get()) return 'read_only'
      const sources = sourcesNow(hold)
      const split = funds.split(op.amount, sources)
      if (balance.posted - balance.held < split.usd) return 'insufficient_funds'
      if (!funds.covers(split.usd, sources)) return 'over_budget'
      holds.grow(hold, op.amount, split.staking)
      funds.reserve(split, sources)
      balances.move(balance, 0n, split.usd, work)
      return null
    },
    renew(op) {
      const hold = holds.find(op.hold)
      if (!hold) return 'no_hold'
      if (hold.lease_owner !== op.lease.owner) return 'not_owner'
      if (balances.isSuspended(hold.account)) return 'suspended'
      holds.renew(hold, op.lease.untilMs, op.owed ? storeOwed(op.owed) : null)
      return null
    },
    release(op, work) {
      const hold = holds.find(op.hold)
      if (!hold) return 'no_hold'
      if (op.onlyIfExpired && hold.lease_until_ms > op.onlyIfExpired.atMs) return 'lease_live'
      holds.end(hold, 'released', noSplit, work)
      return null
    },
  }
}

const freshHold = (op: Hold, split: Split, { staking, budget }: Sources): OpenHold => ({
  id: op.hold,
  account: op.account,
  amount: op.amount,
  staking_usd: split.staking,
  staking_day_ms: staking?.dayMs ?? null,
  api_key: op.key?.key ?? null,
  budget_period: budget?.period ?? null,
  budget_start_ms: budget?.startMs ?? null,
  budget_usd: budget?.limits.usd ?? null,
  budget_staking_usd: budget?.limits.staking ?? null,
  lease_owner: op.lease.owner,
  lease_until_ms: op.lease.untilMs,
})
