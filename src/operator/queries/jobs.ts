import { sql } from 'kysely'
import { formatUsd } from '#contract/money.ts'
import type { EntryView } from '#pages/console/answers.ts'
import { refuse } from '../operator-refused.ts'
import { commitAct } from './acts.ts'
import { chargeOf } from './customer-acts.ts'
import { customerNamed } from './customers.ts'
import { entries } from './entries.ts'
import type { OperatorContext } from './operator-context.ts'
import { mostRows, type OperatorAnswer, type OperatorOrder } from './wire.ts'

/** Jobs, and their refunds. */

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

/** Everything in the ledger about one request: its charges, refunds and holds, and its job. */
export async function request(
  context: OperatorContext,
  { request: id }: OperatorOrder<'request'>,
): Promise<OperatorAnswer<'request'>> {
  const { read } = context.store
  const [{ rows }, found, hold] = await Promise.all([
    entries(context, { request: id, limit: mostRows }),
    jobs(context, { request: id, limit: 1 }),
    read.selectFrom('hold').select(['account', 'amount', 'created_at_ms']).where('id', '=', id).executeTakeFirst(),
  ])
  const [job = null] = found.rows
  const account = rows[0]?.customer ?? job?.customer ?? hold?.account ?? null
  const customer =
    account === null
      ? null
      : await read.selectFrom('customer').select('name').where('account', '=', account).executeTakeFirst()
  return {
    request: id,
    customer: account,
    name: customer?.name ?? null,
    model: rows.find(({ model }) => model !== null)?.model ?? job?.model ?? null,
    chargedUsd: formatUsd(-sumOf(rows, 'CHARGE')),
    refundedUsd: formatUsd(sumOf(rows, 'REFUND')),
    writtenOffUsd: formatUsd(sumOf(rows, 'WRITE_OFF')),
    isRefunded: rows.some(({ kind }) => kind === 'REFUND'),
    hold: hold ? { heldUsd: formatUsd(hold.amount), sinceMs: hold.created_at_ms } : null,
    // In the order in which they were written: a charge's lines stay in order.
    entries: rows.toReversed(),
    job,
  }
}

const sumOf = (rows: readonly EntryView[], wanted: EntryView['kind']): bigint =>
  rows.reduce((sum, { kind, amountUsd }) => (kind === wanted ? sum + BigInt(amountUsd.replace('.', '')) : sum), 0n)
