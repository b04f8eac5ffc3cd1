import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { rateLimitLogRows } from '#contract/limits.ts'
import type { KeyBudget, SetKeyBudget } from '../account-ops.ts'
import type { Lease } from '../units.ts'
import { type Funds, startOf } from './apply-funds.ts'
import type { ApiKey, Appliers, Known } from './work.ts'

/** Operations that move no money: accounts and keys, jobs, payments and claims, and the service's notes. */

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
  // Revoking a key again keeps its first date.
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

/** An absent lease stays unchanged; null clears it. The first value says whether to write. */
const leaseValues = (lease: Lease | null | undefined): [number, string | null, number | null] => [
  lease === undefined ? 0 : 1,
  lease?.owner ?? null,
  lease?.untilMs ?? null,
]

/** Compare-and-set of jobs' rows: state and fence must be what the caller saw. */
export function jobAppliers(database: DatabaseSync): Appliers<'job'> {
  const accountExists = database.prepare('SELECT 1 FROM account WHERE id = ?')
  const jobExists = database.prepare('SELECT 1 FROM job WHERE id = ? OR request = ?')
  // Operations that end a suspended account's job, or free its lease, are still allowed.
  const ofSuspended = database.prepare(
    `SELECT 1 FROM job JOIN account ON account.id = job.account
      WHERE job.id = ? AND job.state = ? AND job.fence = ? AND account.suspended_at_ms IS NOT NULL`,
  )
  const insert = database.prepare(
    `INSERT INTO job (id, account, model, request, engine_state, result, failure, state, fence, lease_owner,
      lease_until_ms, created_at_ms, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11, ?11)`,
  )
  const update = database.prepare(
    `UPDATE job SET model = coalesce(?1, model), engine_state = coalesce(?2, engine_state),
      result = coalesce(?3, result), failure = coalesce(?4, failure),
      lease_owner = iif(?5, ?6, lease_owner), lease_until_ms = iif(?5, ?7, lease_until_ms),
      state = ?8, fence = fence + 1, updated_at_ms = ?9
    WHERE id = ?10 AND state = ?11 AND fence = ?12`,
  )
  const writeInput = database.prepare(
    'INSERT INTO job_input (job, input) VALUES (?1, ?2) ON CONFLICT (job) DO UPDATE SET input = ?2',
  )
  const dropInput = database.prepare('DELETE FROM job_input WHERE job = ?')
  const setInput = (job: string, input: string | null | undefined) => {
    if (input === null) dropInput.run(job)
    else if (input !== undefined) writeInput.run(job, input)
  }
  return {
    job({ job, from, to, fence, set, atMs }) {
      const work = [set.engineState ?? null, set.result ?? null, set.failure ?? null] as const
      const [writeLease, owner, untilMs] = leaseValues(set.lease)
      if (from !== null) {
        const values = [set.model ?? null, ...work, writeLease, owner, untilMs] as const
        if (to === 'running' && owner !== null && ofSuspended.get(job, from, fence)) return 'suspended'
        if (update.run(...values, to, atMs, job, from, fence).changes === 0) return 'job_moved'
        setInput(job, set.input)
        return null
      }
      const { account = '', model = '', request = '' } = set
      if (!accountExists.get(account)) return 'no_account'
      if (jobExists.get(job, request)) return 'job_exists'
      insert.run(job, account, model, request, ...work, to, owner, untilMs, atMs)
      setInput(job, set.input)
      return null
    },
  }
}

/** Compare-and-set of payments' rows; the insert claims the payment's key. */
export function paymentAppliers(database: DatabaseSync): Appliers<'payment'> {
  const paymentExists = database.prepare('SELECT 1 FROM payment WHERE id = ?')
  const insert = database.prepare(
    `INSERT INTO payment (id, network, payer, amount, payload, valid_before_seconds, transaction_id, answer,
      lease_owner, lease_until_ms, state, fence, created_at_ms, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1, ?12, ?12)`,
  )
  const update = database.prepare(
    `UPDATE payment SET network = coalesce(?1, network), payer = coalesce(?2, payer), amount = coalesce(?3, amount),
      payload = coalesce(?4, payload), valid_before_seconds = coalesce(?5, valid_before_seconds),
      transaction_id = coalesce(?6, transaction_id), answer = coalesce(?7, answer),
      lease_owner = iif(?8, ?9, lease_owner), lease_until_ms = iif(?8, ?10, lease_until_ms),
      state = ?11, fence = fence + 1, updated_at_ms = ?12
    WHERE id = ?13 AND state = ?14 AND fence = ?15`,
  )
  return {
    payment({ payment, from, to, fence, set, atMs }) {
      const terms = [set.network ?? null, set.payer ?? null, set.amount ?? null, set.payload ?? null] as const
      const outcome = [set.validBeforeSeconds ?? null, set.transaction ?? null, set.answer ?? null] as const
      const [writeLease, owner, untilMs] = leaseValues(set.lease)
      if (from !== null) {
        const values = [...terms, ...outcome, writeLease, owner, untilMs, to, atMs] as const
        return update.run(...values, payment, from, fence).changes === 0 ? 'payment_moved' : null
      }
      if (paymentExists.get(payment)) return 'payment_exists'
      insert.run(payment, ...terms, ...outcome, owner, untilMs, to, atMs)
      return null
    },
  }
}

/** Compare-and-set of idempotency claims; a claim that is given up leaves nothing. */
export function claimAppliers(database: DatabaseSync): Appliers<'claim'> {
  const accountExists = database.prepare('SELECT 1 FROM account WHERE id = ?')
  const claimExists = database.prepare('SELECT 1 FROM claim WHERE id = ?')
  const insert = database.prepare(
    `INSERT INTO claim (id, account, request, fingerprint, state, fence, lease_owner, lease_until_ms, created_at_ms,
      updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?8)`,
  )
  const update = database.prepare(
    `UPDATE claim SET lease_owner = iif(?1, ?2, lease_owner), lease_until_ms = iif(?1, ?3, lease_until_ms),
      state = ?4, fence = fence + 1, updated_at_ms = ?5
    WHERE id = ?6 AND state = ?7 AND fence = ?8`,
  )
  const remove = database.prepare('DELETE FROM claim WHERE id = ? AND state = ? AND fence = ?')
  const writeAnswer = database.prepare('INSERT INTO claim_answer (claim, answer) VALUES (?, ?)')
  return {
    claim({ claim, from, to, fence, set, atMs }) {
      const [writeLease, owner, untilMs] = leaseValues(set.lease)
      if (from !== null) {
        const moved =
          to === 'gone'
            ? remove.run(claim, from, fence)
            : update.run(writeLease, owner, untilMs, to, atMs, claim, from, fence)
        if (moved.changes === 0) return 'claim_moved'
      } else {
        const { account = '', request = '', fingerprint = '' } = set
        if (!accountExists.get(account)) return 'no_account'
        if (claimExists.get(claim)) return 'claim_exists'
        insert.run(claim, account, request, fingerprint, to, owner, untilMs, atMs)
      }
      if (to === 'done') writeAnswer.run(claim, set.answer ?? '')
      return null
    },
  }
}

export function recordAppliers(
  database: DatabaseSync,
): Appliers<'nonce' | 'limit' | 'ledger' | 'secret' | 'receiptKey'> {
  const insertNonce = database.prepare('INSERT INTO nonce (id, expires_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const insertLimit = database.prepare(
    'INSERT INTO limit_log (account, key, model, tier, type, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const dropOldLimits = database.prepare(
    `DELETE FROM limit_log WHERE account = ?1 AND seq <=
      (SELECT seq FROM limit_log WHERE account = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ${rateLimitLogRows})`,
  )
  const setLedger = database.prepare(
    `INSERT INTO ledger_state (one, state, reason, since_ms) VALUES (1, ?, ?, ?)
    ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason, since_ms = excluded.since_ms`,
  )
  const insertSecret = database.prepare(
    `INSERT INTO secret_mark (generation, mark, place, since_ms) SELECT ?, ?, ?, ?
    WHERE ? = (SELECT coalesce(max(generation), 0) + 1 FROM secret_mark)`,
  )
  const insertReceiptKey = database.prepare(
    'INSERT INTO receipt_key (id, public_key, since_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  return {
    nonce(op) {
      return insertNonce.run(op.key, op.expiresAtMs).changes === 0 ? 'nonce_used' : null
    },
    limit(op) {
      insertLimit.run(op.account, op.key, op.model, op.tier, op.type, op.atMs)
      dropOldLimits.run(op.account)
      return null
    },
    ledger(op) {
      setLedger.run(op.state, op.reason, op.atMs)
      return null
    },
    secret({ generation, mark, place, atMs }) {
      return insertSecret.run(generation, mark, place, atMs, generation).changes === 0 ? 'secret_moved' : null
    },
    receiptKey({ key, publicKey, atMs }) {
      insertReceiptKey.run(key, publicKey, atMs)
      return null
    },
  }
}

/** Writes operators' notes about customers, and the log of operators' actions. */
export function customerAppliers(
  database: DatabaseSync,
  suspended: Known<boolean>,
): Appliers<'customer' | 'suspend' | 'resume' | 'act' | 'operator'> {
  const accountExists = database.prepare('SELECT 1 FROM account WHERE id = ?')
  const addCustomer = database.prepare(
    'INSERT INTO customer (account, changed_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  const setCustomer = database.prepare(
    `UPDATE customer SET name = iif(?1, ?2, name), email = iif(?3, ?4, email), note = iif(?5, ?6, note),
      plan = iif(?7, ?8, plan), changed_at_ms = ?9 WHERE account = ?10`,
  )
  const suspend = database.prepare(
    'UPDATE account SET suspended_at_ms = coalesce(suspended_at_ms, ?), suspended_reason = ? WHERE id = ?',
  )
  const resume = database.prepare('UPDATE account SET suspended_at_ms = NULL, suspended_reason = NULL WHERE id = ?')
  const insertAct = database.prepare(
    `INSERT INTO operator_act (at_ms, actor, act, account, subject, reason, before_change, after_change)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return {
    ...operatorAppliers(database),
    customer({ account, set, atMs }) {
      if (!accountExists.get(account)) return 'no_account'
      addCustomer.run(account, atMs)
      const [name, email] = [given(set.name), given(set.email)]
      setCustomer.run(...name, ...email, ...given(set.note), ...given(set.plan), atMs, account)
      return null
    },
    suspend({ account, reason, atMs }) {
      if (suspend.run(atMs, reason, account).changes === 0) return 'no_account'
      suspended.set(account, true)
      return null
    },
    resume({ account }) {
      if (resume.run(account).changes === 0) return 'no_account'
      suspended.set(account, false)
      return null
    },
    act({ actor, act, account, subject, reason, before, after, atMs }) {
      insertAct.run(atMs, actor, act, account, subject, reason, before, after)
      return null
    },
  }
}

function operatorAppliers(database: DatabaseSync): Appliers<'operator'> {
  const insert = database.prepare(
    `INSERT INTO operator (name, role, epoch, proofs, fence, created_at_ms, changed_at_ms)
      VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5) ON CONFLICT DO NOTHING`,
  )
  const seen = database.prepare('SELECT role FROM operator WHERE name = ? AND fence = ?')
  const otherOwner = database.prepare("SELECT 1 FROM operator WHERE role = 'owner' AND name <> ?")
  const update = database.prepare(
    'UPDATE operator SET role = ?, epoch = ?, proofs = ?, fence = fence + 1, changed_at_ms = ? WHERE name = ?',
  )
  const remove = database.prepare('DELETE FROM operator WHERE name = ?')
  return {
    operator({ operator, fence, set, atMs }) {
      const fields = set && ([set.role, set.epoch, set.proofs] as const)
      if (fence === 0 && fields) return insert.run(operator, ...fields, atMs).changes === 0 ? 'operator_moved' : null
      const before = seen.get(operator, fence)
      if (!before) return 'operator_moved'
      if (before.role === 'owner' && set?.role !== 'owner' && !otherOwner.get(operator)) return 'last_owner'
      if (fields) update.run(...fields, atMs, operator)
      else remove.run(operator)
      return null
    },
  }
}

/** Whether to write a value, and the value. */
const given = (value: string | null | undefined): [number, string | null] => [
  value === undefined ? 0 : 1,
  value ?? null,
]
