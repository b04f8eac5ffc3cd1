import type { DatabaseSync } from 'node:sqlite'
import { leaseValues } from './apply-moves.ts'
import type { Appliers } from './work.ts'

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
