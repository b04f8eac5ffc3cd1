import { parseUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'
import type { Store } from '#ledger/store/store.ts'
import { entryRefs, type Op } from '#ledger/store/units.ts'
import { OperatorRefused } from '../operator-refused.ts'
import { chargeOf, grantRef } from '../queries/customer-acts.ts'
import { operatorActs } from '../queries/wire.ts'
import type { Asked, ProofNeed, RouteContext } from './console-route.ts'

/**
 * The most that an operator may credit and refund in an hour without a recent proof. It limits what a stolen session can
 * give away.
 */
export const unprovenCreditMicroUsd = 100_000_000n

/** The actions that give money to a customer; each logs its amount. */
const givingActs = ['customer.credit', 'customer.refund', 'job.refund'] as const

/** The number of the last hour's actions that are read. With more of them, a proof is required whatever their sum. */
const lookedAt = 500

type Order = Pick<Asked, 'body' | 'session'>
type Context = Pick<RouteContext, 'store' | 'clock'>

/** The action itself refuses an invalid order, and one that would give nothing more. */
const notNeeded: ProofNeed = { isNeeded: false }

/** Whether this credit exceeds the limit. A repeat credits nothing, so it needs no proof to return the first result. */
export async function isMuchCredit({ body, session }: Order, context: Context): Promise<ProofNeed> {
  const order = operatorActs['customer.credit'].input.safeParse(body).data
  const amount = order ? parseUsd(order.usd) : null
  if (!order || amount === null) return notNeeded
  if (order.id !== undefined && (await hasEntry(context.store, grantRef(order.id)))) return notNeeded
  return isMuch(amount, session.by, context)
}

/** Whether the refund of this request exceeds the limit. */
export async function isMuchRefund({ body, session }: Order, context: Context): Promise<ProofNeed> {
  const order = operatorActs['customer.refund'].input.safeParse(body).data
  return order ? isMuchCharge(order.request, session.by, context) : notNeeded
}

/** Whether the refund of this job exceeds the limit. */
export async function isMuchJobRefund({ body, session }: Order, context: Context): Promise<ProofNeed> {
  const order = operatorActs['job.refund'].input.safeParse(body).data
  if (!order) return notNeeded
  const { read } = context.store
  const job = await read.selectFrom('job').select('request').where('id', '=', order.job).executeTakeFirst()
  return job ? isMuchCharge(job.request, session.by, context) : notNeeded
}

async function isMuchCharge(request: string, by: string, context: Context): Promise<ProofNeed> {
  if (await hasEntry(context.store, entryRefs.refund(request))) return notNeeded
  const charge = await chargeOf(context, request).catch(error => {
    if (error instanceof OperatorRefused) return null
    throw error
  })
  return charge ? isMuch(charge.usd, by, context) : notNeeded
}

/**
 * Whether this amount, added to what the operator gave in the last hour, exceeds the limit. The fence is named after the
 * newest of those actions, which is read first: one that is committed later is in the history, or makes the fence fail.
 */
async function isMuch(now: bigint, by: string, { store, clock }: Context): Promise<ProofNeed> {
  if (now > unprovenCreditMicroUsd) return { isNeeded: true }
  const actor = `console: ${by}`
  const given = store.read
    .selectFrom('operator_act')
    .where('act', 'in', givingActs)
    .where('actor', '=', actor)
    .orderBy('seq', 'desc')
  const newest = await given.select('seq').limit(1).executeTakeFirst()
  const sinceMs = clock.now() - hourMs
  const rows = await given.select('after_change').where('at_ms', '>', sinceMs).limit(lookedAt).execute()
  const before = rows.reduce((sum, row) => sum + givenBy(row.after_change), 0n)
  if (rows.length >= lookedAt || before + now > unprovenCreditMicroUsd) return { isNeeded: true }
  const key = `console-credit:${hashOfSecret(actor)}:${newest?.seq ?? 0}`
  const fence: Op = { op: 'nonce', key, expiresAtMs: clock.now() + hourMs }
  return { isNeeded: false, fence }
}

const hasEntry = async ({ read }: Pick<Store, 'read'>, ref: string): Promise<boolean> =>
  (await read.selectFrom('entry').select('seq').where('ref', '=', ref).limit(1).execute()).length > 0

const givenBy = (after: string | null): bigint => {
  const { usd } = JSON.parse(after ?? '{}') as { usd?: string }
  return parseUsd(usd ?? '0') ?? 0n
}
