import type { DatabaseSync } from 'node:sqlite'
import type { Lease } from '../units.ts'
import type { Appliers } from './work.ts'

/** A lease that is absent stays as it is; null clears it. The first value says whether to write. */
const leaseValues = (lease: Lease | null | undefined): [number, string | null, number | null] => [
  lease === undefined ? 0 : 1,
  lease?.owner ?? null,
  lease?.untilMs ?? null,
]

/** Compare-and-set of jobs' rows: state and fence must be what the caller saw. */
export function jobAppliers(database: DatabaseSync): Appliers<'job'> {
  const accountExists = database.prepare('SELECT 1 FROM account WHERE id = ?')
  const jobExists = database.prepare('SELECT 1 FROM job WHERE id = ? OR request = ?')
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
