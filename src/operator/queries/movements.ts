import { sql } from 'kysely'
import { formatUsd } from '#contract/money.ts'
import type { PaymentState } from '#ledger/store/units.ts'
import { refuse } from '../operator-refused.ts'
import { commitAct } from './acts.ts'
import { chargeOf } from './customer-acts.ts'
import { customerNamed } from './customers.ts'
import type { OperatorContext } from './operator-context.ts'
import { stuckAfterMs } from './sums.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/** Top-ups by the stage that they have reached, and jobs. */

const advice: Readonly<Record<PaymentState, string>> = {
  claimed: 'Accepted, and not yet sent to the chain. A running service continues it; if none is running, start one.',
  settling: 'Sent to the chain, and not yet confirmed. The service checks again by itself.',
  unknown:
    'It is not yet known whether it arrived. The service keeps checking the chain; make sure that its node answers (`farebox doctor`).',
  credited: 'Arrived, and credited.',
  rejected: 'Refused before anything was sent; nothing was taken from the payer.',
  expired: 'Expired: it can no longer arrive, and nothing was taken from the payer.',
}

/** Added to the stage's own advice. */
const stuckAdvice =
  ' It has been pending for more than an hour. Look up the transaction on the chain, and run `farebox ledger audit --chain`, which lists money that arrived without a credit.'

const open: readonly PaymentState[] = ['claimed', 'settling', 'unknown']

export async function payments(
  { store: { read }, clock }: OperatorContext,
  { stage, payer, transaction, limit, after }: OperatorOrder<'payments'>,
): Promise<OperatorAnswer<'payments'>> {
  const beforeMs = clock.now() - stuckAfterMs
  let rows = read.selectFrom('payment').leftJoin('wallet', 'wallet.id', 'payment.payer')
  if (stage === 'stuck') rows = rows.where('state', 'in', open).where('payment.created_at_ms', '<', beforeMs)
  else if (stage !== undefined) rows = rows.where('state', '=', stage)
  if (payer !== undefined) rows = rows.where('payer', 'in', [payer, payer.toLowerCase()])
  if (transaction !== undefined) rows = rows.where('transaction_id', '=', transaction)
  const { n } = await rows.select(sql<number>`CAST(count(*) AS bigint)`.as('n')).executeTakeFirstOrThrow()
  if (after !== undefined) {
    const [atMs, id] = timedPlace(after)
    rows = rows.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('payment.created_at_ms', 'payment.id'), '<', tuple(atMs, id)),
    )
  }
  const found = await rows
    .select(['payment.id', 'state', 'network', 'payer', 'wallet.account', 'amount', 'transaction_id'])
    .select(['payment.created_at_ms', 'updated_at_ms'])
    .orderBy('payment.created_at_ms', 'desc')
    .orderBy('payment.id', 'desc')
    .limit(limit + 1)
    .execute()
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    rows: shown.map(row => {
      const isStuck = open.includes(row.state) && row.created_at_ms < beforeMs
      return {
        ...{ payment: row.id, stage: row.state, isStuck, advice: `${advice[row.state]}${isStuck ? stuckAdvice : ''}` },
        ...{ network: row.network, payer: row.payer, customer: row.account, transaction: row.transaction_id },
        amountUsd: row.amount === null ? null : formatUsd(row.amount),
        ...{ createdAtMs: row.created_at_ms, updatedAtMs: row.updated_at_ms },
      }
    }),
    total: n,
    next: last && found.length > limit ? `${last.created_at_ms} ${last.id}` : null,
  }
}

function timedPlace(after: string): [atMs: number, id: string] {
  const [, atMs, id] = /^(\d{1,15}) (.+)$/.exec(after) ?? []
  if (atMs === undefined || id === undefined) throw refuse('`after` is not a `next` value of this list.')
  return [Number(atMs), id]
}

/** Newest first: a job's id begins with its time. */
export async function jobs(context: OperatorContext, order: OperatorOrder<'jobs'>): Promise<OperatorAnswer<'jobs'>> {
  const { read } = context.store
  const { state, model, request, limit, after } = order
  const account = order.customer === undefined ? undefined : (await customerNamed(context.store, order.customer)).id
  let rows = read.selectFrom('job').leftJoin('customer', 'customer.account', 'job.account')
  if (state !== undefined) rows = rows.where('state', '=', state)
  if (model !== undefined) rows = rows.where('model', '=', model)
  if (account !== undefined) rows = rows.where('job.account', '=', account)
  if (request !== undefined) rows = rows.where('request', '=', request)
  const { n } = await rows.select(sql<number>`CAST(count(*) AS bigint)`.as('n')).executeTakeFirstOrThrow()
  if (after !== undefined) rows = rows.where('id', '<', after)
  const found = await rows
    .select(['id', 'job.account', 'name', 'state', 'model', 'request', 'failure', 'created_at_ms', 'updated_at_ms'])
    .select([
      sql<bigint>`(SELECT CAST(coalesce(sum(CASE e.kind WHEN 'CHARGE' THEN e.amount ELSE -e.amount END), 0) AS bigint)
        FROM entry e WHERE e.ref IN ('charge:' || job.request, 'writeoff:' || job.request))`.as('charged_usd'),
      sql<number>`(SELECT CAST(count(*) AS bigint) FROM entry e WHERE e.ref = 'refund:' || job.request)`.as('refunds'),
    ])
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const shown = found.slice(0, limit)
  return {
    rows: shown.map(row => ({
      ...{ job: row.id, customer: row.account, name: row.name, state: row.state, model: row.model },
      ...{ request: row.request, chargedUsd: formatUsd(row.charged_usd), isRefunded: row.refunds > 0 },
      failure: reasonOf(row.failure),
      ...{ createdAtMs: row.created_at_ms, updatedAtMs: row.updated_at_ms },
    })),
    total: n,
    next: found.length > limit ? (shown.at(-1)?.id ?? null) : null,
  }
}

const reasonOf = (failure: string | null): string | null =>
  failure === null ? null : ((JSON.parse(failure) as { reason?: string }).reason ?? null)

/** Refunds a job. If it is still running, the same unit marks it as failed, so that its result is not delivered. */
export async function refundJob(
  context: OperatorContext,
  { job, reason }: OperatorOrder<'job.refund'>,
  actor: string,
): Promise<OperatorAnswer<'job.refund'>> {
  const row = await context.store.read
    .selectFrom('job')
    .select(['account', 'request', 'state', 'fence'])
    .where('id', '=', job)
    .executeTakeFirst()
  if (!row) throw refuse('There is no such job.')
  const { account, request, state, fence } = row
  const { usd } = await chargeOf(context, request)
  const atMs = context.clock.now()
  const isOpen = state === 'queued' || state === 'running'
  const failure = JSON.stringify({ reason: `The operator ended this job: ${reason}`, contentPolicy: false })
  const set = { failure, input: null, lease: null }
  const ended = isOpen ? [{ op: 'job' as const, job, from: state, to: 'failed' as const, fence, set, atMs }] : []
  const noted = { actor, act: 'job.refund' as const, account, subject: job, reason, before: { state } }
  const after = { state: isOpen ? 'failed' : state, usd: formatUsd(usd) }
  await commitAct(context, { ...noted, after }, [...ended, { op: 'refund', request, reason, atMs }])
  return { customer: account, refundedUsd: formatUsd(usd) }
}
