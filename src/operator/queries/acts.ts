import { sql } from 'kysely'
import { type Act, noteAct } from '#ledger/accounts/operator-acts.ts'
import { commitSurely, type Refusal } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type OperatorRefused, Overtaken, refuse } from '../operator-refused.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/** The audit log of operators' actions. It is written with each action, in its transaction, and read newest first. */

/** Sentences for the ledger's refusals of an operator's action. */
const sentences: Partial<Record<Refusal, string>> = {
  no_account: 'There is no such customer.',
  nothing_to_refund: 'There is nothing to refund: the ledger has no charge for this request.',
  refunded: 'This was already refunded.',
  job_moved: 'The job has just changed; check it, then try again.',
}

/** Only a fence can find its nonce used. */
export const refusedByLedger = (why: Refusal): OperatorRefused | Overtaken =>
  why === 'nonce_used' ? new Overtaken() : refuse(sentences[why] ?? `The ledger refused this: ${why}.`)

/** Writes an action and its row of the log in one unit. If it throws `OperatorRefused` or `Overtaken`, neither is written. */
export async function commitAct(context: OperatorContext, act: Act, ops: readonly Op[]): Promise<void> {
  const why = await tryAct(context, act, ops)
  if (why !== null) throw refusedByLedger(why)
}

/** Returns why the ledger refused; null if it did not. */
export async function tryAct(context: OperatorContext, act: Act, ops: readonly Op[]): Promise<Refusal | null> {
  const { store, clock, fence } = context
  const atMs = clock.now()
  const whole = [...ops, ...(fence ? [fence] : []), noteAct(act, atMs)]
  const outcome = await commitSurely(store, { id: `${uuidV7(atMs)}/act`, ops: whole })
  return outcome.ok ? null : outcome.why
}

/** The cursor of this list is a row's number; any other value belongs to another list. */
export function numberOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw refuse('`after` is not a `next` value of this list.')
}

type Asked = Pick<OperatorOrder<'acts'>, 'actor' | 'act' | 'customer' | 'after'> & { limit: number }

export async function actsOf({ store: { read } }: OperatorContext, asked: Asked): Promise<OperatorAnswer<'acts'>> {
  const { actor, act, customer, after, limit } = asked
  const terms = [
    sql`1 = 1`,
    ...(actor === undefined ? [] : [sql`o.actor = ${actor}`]),
    ...(act === undefined ? [] : [sql`o.act = ${act}`]),
    ...(customer === undefined ? [] : [sql`o.account = ${customer}`]),
  ]
  const where = sql.join(terms, sql` AND `)
  const before = after === undefined ? sql`` : sql` AND o.seq < ${numberOf(after)}`
  const { rows } =
    await sql<StoredAct>`SELECT o.*, c.name FROM operator_act o LEFT JOIN customer c ON c.account = o.account
    WHERE ${where}${before} ORDER BY o.seq DESC LIMIT ${limit + 1}`.execute(read)
  const counted = await sql<{
    n: number
  }>`SELECT CAST(count(*) AS bigint) AS n FROM operator_act o WHERE ${where}`.execute(read)
  const shown = rows.slice(0, limit)
  return {
    rows: shown.map(row => ({
      ...{ number: row.seq, atMs: row.at_ms, actor: row.actor, act: row.act, customer: row.account, name: row.name },
      ...{ subject: row.subject, reason: row.reason },
      before: changeOf(row.before_change),
      after: changeOf(row.after_change),
    })),
    total: counted.rows[0]?.n ?? 0,
    next: rows.length > limit ? `${shown.at(-1)?.seq}` : null,
  }
}

interface StoredAct {
  seq: number
  at_ms: number
  actor: string
  act: string
  account: string | null
  name: string | null
  subject: string | null
  reason: string | null
  before_change: string | null
  after_change: string | null
}

const changeOf = (text: string | null): unknown => (text === null ? null : JSON.parse(text))
