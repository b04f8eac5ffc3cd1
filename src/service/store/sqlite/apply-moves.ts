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
    `INSERT INTO job (id, account, model, request, input, engine_state, result, failure, state, fence, next_run_at_ms,
      lease_owner, lease_until_ms, created_at_ms, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10, ?11, ?12, ?13, ?13)`,
  )
  const update = database.prepare(
    `UPDATE job SET model = coalesce(?1, model), input = coalesce(?2, input), engine_state = coalesce(?3, engine_state),
      result = coalesce(?4, result), failure = coalesce(?5, failure), next_run_at_ms = coalesce(?6, next_run_at_ms),
      lease_owner = iif(?7, ?8, lease_owner), lease_until_ms = iif(?7, ?9, lease_until_ms),
      state = ?10, fence = fence + 1, updated_at_ms = ?11
    WHERE id = ?12 AND state = ?13 AND fence = ?14`,
  )
  return {
    job({ job, from, to, fence, set, atMs }) {
      const work = [set.engineState ?? null, set.result ?? null, set.failure ?? null] as const
      const nextRunAtMs = set.nextRunAtMs ?? null
      const [writeLease, owner, untilMs] = leaseValues(set.lease)
      if (from !== null) {
        const values = [set.model ?? null, set.input ?? null, ...work, nextRunAtMs, writeLease, owner, untilMs] as const
        return update.run(...values, to, atMs, job, from, fence).changes === 0 ? 'job_moved' : null
      }
      const { account = '', model = '', request = '', input = '' } = set
      if (!accountExists.get(account)) return 'no_account'
      if (jobExists.get(job, request)) return 'job_exists'
      insert.run(job, account, model, request, input, ...work, to, nextRunAtMs, owner, untilMs, atMs)
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
