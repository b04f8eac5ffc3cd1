import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { KeyBudget, SetKeyBudget } from '../account-ops.ts'
import { type ApiKey, type Funds, startOf } from './apply-funds.ts'
import type { Appliers, Known } from './work.ts'

interface KeyParts {
  keys: Known<ApiKey>
  funds: Pick<Funds, 'coversUsed'>
}

export function accountAppliers(
  database: DatabaseSync,
  parts: KeyParts,
): Appliers<'account' | 'wallet' | 'key' | 'keyBudget' | 'revokeKey'> {
  const accountExists = database.prepare('SELECT 1 FROM account WHERE id = ?')
  const insertAccount = database.prepare(
    'INSERT INTO account (id, kind, created_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const walletOwner = database.prepare('SELECT account FROM wallet WHERE id = ?')
  const insertWallet = database.prepare('INSERT INTO wallet (id, account, created_at_ms) VALUES (?, ?, ?)')
  return {
    ...keyAppliers(database, { ...parts, accountExists }),
    account(op) {
      insertAccount.run(op.account, op.kind, op.atMs)
      return null
    },
    wallet(op) {
      if (!accountExists.get(op.account)) return 'no_account'
      const owner = walletOwner.get(op.wallet)?.account
      if (owner !== undefined) return owner === op.account ? null : 'wallet_taken'
      insertWallet.run(op.wallet, op.account, op.atMs)
      return null
    },
  }
}

function keyAppliers(
  database: DatabaseSync,
  { keys, funds, accountExists }: KeyParts & { accountExists: StatementSync },
): Appliers<'key' | 'keyBudget' | 'revokeKey'> {
  const keyExists = database.prepare('SELECT 1 FROM api_key WHERE id = ? OR hash = ?')
  const activeKeys = database.prepare(
    `SELECT count(*) AS keys FROM api_key
      WHERE account = ? AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)`,
  )
  const insertKey = database.prepare(
    `INSERT INTO api_key (id, account, hash, prefix, label, expires_at_ms, created_at_ms, role, ending, budget_period,
      budget_usd, budget_staking_usd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const setBudget = database.prepare(
    `UPDATE api_key SET label = coalesce(?, label), expires_at_ms = CASE WHEN ? THEN ? ELSE expires_at_ms END,
      budget_period = ?, budget_usd = ?, budget_staking_usd = ? WHERE id = ?`,
  )
  const isAsBefore = database.prepare(
    `SELECT budget_period IS ? AND budget_usd IS ? AND budget_staking_usd IS ? AND expires_at_ms IS ?
      AND revoked_at_ms IS NULL AS same FROM api_key WHERE id = ?`,
  )
  // A key that is revoked again keeps its first date.
  const revokeKey = database.prepare('UPDATE api_key SET revoked_at_ms = coalesce(revoked_at_ms, ?) WHERE id = ?')

  function coversUsed({ key, budget, covers }: SetKeyBudget): boolean {
    if (!budget || !covers) return true
    const { period, usd, staking } = budget
    return funds.coversUsed({ key, period, startMs: startOf(period, covers), limits: { usd, staking } })
  }

  return {
    key(op) {
      if (!accountExists.get(op.account)) return 'no_account'
      if (keyExists.get(op.key, op.hash)) return 'key_exists'
      const active = () => Number(activeKeys.get(op.account, op.atMs)?.keys)
      if (op.mostActive !== undefined && active() >= op.mostActive) return 'too_many_keys'
      const words = [op.hash, op.prefix, op.label] as const
      const { role = 'INFERENCE', ending = '' } = op
      insertKey.run(op.key, op.account, ...words, op.expiresAtMs, op.atMs, role, ending, ...budgetValues(op.budget))
      return null
    },
    keyBudget(op) {
      keys.delete(op.key)
      const before = op.before && [...budgetValues(op.before.budget), op.before.expiresAtMs]
      if (before && Number(isAsBefore.get(...before, op.key)?.same) === 0) return 'key_moved'
      if (!coversUsed(op)) return 'over_budget'
      const end = [op.expiresAtMs === undefined ? 0 : 1, op.expiresAtMs ?? null] as const
      const changed = setBudget.run(op.label ?? null, ...end, ...budgetValues(op.budget), op.key).changes
      return changed === 0 ? 'no_key' : null
    },
    revokeKey(op) {
      keys.delete(op.key)
      return revokeKey.run(op.atMs, op.key).changes === 0 ? 'no_key' : null
    },
  }
}

const budgetValues = (budget: KeyBudget | null | undefined) =>
  [budget?.period ?? null, budget?.usd ?? null, budget?.staking ?? null] as const
