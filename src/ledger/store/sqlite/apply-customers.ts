import type { DatabaseSync } from 'node:sqlite'
import type { Appliers, Known } from './work.ts'

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
