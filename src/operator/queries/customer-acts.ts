import { formatUsd, microUsd, parseUsd, zeroUsd } from '#contract/money.ts'
import type { CustomerDetails } from '#ledger/store/account-ops.ts'
import { entryRefs, isArchivedSum, type Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { refuse } from '../operator-refused.ts'
import { commitAct, refusedByLedger, tryAct } from './acts.ts'
import { customerNamed } from './customers.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/** Operators' actions on customers. Each action and its row of the audit log are one unit of the ledger. */

type ActName = 'customer.create' | 'customer.change' | 'customer.suspend' | 'customer.resume' | 'customer.limit'
type Done = Promise<OperatorAnswer<ActName>>

const noDetails: CustomerDetails = { name: null, email: null, note: null, plan: null }

/** Creates an account without credit or key. */
export async function createCustomer(
  context: OperatorContext,
  order: OperatorOrder<'customer.create'>,
  actor: string,
): Done {
  const { name, email = null, note = null, plan = null, reason } = order
  const atMs = context.clock.now()
  const account = `customer:${uuidV7(atMs)}`
  const set = { name, email, note, plan }
  const ops: Op[] = [
    { op: 'account', account, kind: 'customer', atMs },
    { op: 'customer', account, set, atMs },
  ]
  await commitAct(context, { actor, act: 'customer.create', account, reason: reason ?? null, after: set }, ops)
  return { customer: account }
}

/** Changes the given values, and logs only those that differ. */
export async function changeCustomer(
  context: OperatorContext,
  order: OperatorOrder<'customer.change'>,
  actor: string,
): Done {
  const { customer: named, reason, ...wanted } = order
  return setDetails(context, { named, wanted, reason, actor, act: 'customer.change' })
}

/** Gives a customer the limits of another plan; null restores the plan of the configuration. */
export async function limitCustomer(
  context: OperatorContext,
  order: OperatorOrder<'customer.limit'>,
  actor: string,
): Done {
  const { customer: named, reason, plan } = order
  return setDetails(context, { named, wanted: { plan }, reason, actor, act: 'customer.limit' })
}

interface Change {
  named: string
  wanted: { [Name in keyof CustomerDetails]?: CustomerDetails[Name] | undefined }
  reason: string | undefined
  actor: string
  act: 'customer.change' | 'customer.limit'
}

async function setDetails(context: OperatorContext, { named, wanted, reason, actor, act }: Change): Done {
  const found = await customerNamed(context.store, named)
  const given = Object.keys(noDetails).filter(name => wanted[name as keyof CustomerDetails] !== undefined)
  const changed = given.filter(
    name => wanted[name as keyof CustomerDetails] !== found[name as keyof CustomerDetails],
  ) as (keyof CustomerDetails)[]
  if (given.length === 0) throw refuse('Nothing to change: give a name, an e-mail or a note.')
  if (changed.length === 0) return { customer: found.id }
  const part = (of: object) => Object.fromEntries(changed.map(name => [name, (of as CustomerDetails)[name]]))
  const set = part(wanted) as Partial<CustomerDetails>
  const noted = { actor, act, account: found.id, reason: reason ?? null, before: part(found), after: set }
  await commitAct(context, noted, [{ op: 'customer', account: found.id, set, atMs: context.clock.now() }])
  return { customer: found.id }
}

/** The ledger accepts each ref once. */
export const grantRef = (id: string): string => `grant:${id}`

/** Credits once for each id. Creates no key. */
export async function creditCustomer(
  context: OperatorContext,
  order: OperatorOrder<'customer.credit'>,
  actor: string,
): Promise<OperatorAnswer<'customer.credit'>> {
  const { store, clock } = context
  const { id: account } = await customerNamed(store, order.customer)
  const atMs = clock.now()
  const amount = microUsd(parseUsd(order.usd) ?? zeroUsd)
  const id = order.id ?? uuidV7(atMs)
  const ref = grantRef(id)
  const credit: Op = { op: 'credit', account, amount, source: 'system:grant', ref, atMs }
  const { reason } = order
  const noted = {
    actor,
    act: 'customer.credit' as const,
    account,
    subject: ref,
    reason,
    after: { usd: formatUsd(amount) },
  }
  const why = await tryAct(context, noted, [credit])
  const isRepeated = why === 'ref_exists'
  if (isRepeated) await requireSameCredit(context, { account, amount, ref })
  else if (why !== null) throw refusedByLedger(why)
  const row = await store.read.selectFrom('account').select('posted').where('id', '=', account).executeTakeFirst()
  return { customer: account, balanceUsd: formatUsd(row?.posted ?? 0n), id, isRepeated }
}

/** A repeat returns the same credit; a different credit with the same id is a mistake. */
async function requireSameCredit(
  { store: { read } }: OperatorContext,
  { account, amount, ref }: { account: string; amount: bigint; ref: string },
): Promise<void> {
  const row = await read.selectFrom('entry').select(['account', 'amount']).where('ref', '=', ref).executeTakeFirst()
  if (row?.account === account && row.amount === amount) return
  throw refuse('This id was used for another credit; use a new one.')
}

/** Refunds everything that a request was charged, once. */
export async function refundRequest(
  context: OperatorContext,
  { request, reason }: OperatorOrder<'customer.refund'>,
  actor: string,
): Promise<OperatorAnswer<'customer.refund'>> {
  const charged = await chargeOf(context, request)
  const noted = { actor, act: 'customer.refund' as const, account: charged.account, subject: request, reason }
  const atMs = context.clock.now()
  await commitAct(context, { ...noted, after: { usd: formatUsd(charged.usd) } }, [
    { op: 'refund', request, reason, atMs },
  ])
  return { customer: charged.account, refundedUsd: formatUsd(charged.usd) }
}

/** Returns who was charged for a request, and how much a refund would return. */
export async function chargeOf({ store: { read } }: Pick<OperatorContext, 'store'>, request: string) {
  if (isArchivedSum(request))
    throw refuse('This is a sum of compacted calls, which cannot be refunded. Credit the customer instead.')
  const rows = await read
    .selectFrom('entry')
    .select(['account', 'kind', 'amount'])
    .where('ref', 'in', [entryRefs.charge(request), entryRefs.writeOff(request)])
    .execute()
  const [first] = rows
  if (!first) throw refuse('There is nothing to refund: the ledger has no charge for this request.')
  const usd = rows.reduce((sum, { kind, amount }) => sum + (kind === 'CHARGE' ? amount : -amount), 0n)
  return { account: first.account, usd }
}

/** Refuses new spending from now on, in every process. Suspending again replaces the reason. */
export async function suspendCustomer(
  context: OperatorContext,
  order: OperatorOrder<'customer.suspend'>,
  actor: string,
): Done {
  const { id: account, suspended_at_ms, suspended_reason } = await customerNamed(context.store, order.customer)
  const { reason } = order
  const before = suspended_at_ms === null ? { state: 'active' } : { state: 'suspended', reason: suspended_reason }
  const noted = { actor, act: 'customer.suspend' as const, account, reason, before, after: { state: 'suspended' } }
  await commitAct(context, noted, [{ op: 'suspend', account, reason, atMs: context.clock.now() }])
  return { customer: account }
}

export async function resumeCustomer(
  context: OperatorContext,
  order: OperatorOrder<'customer.resume'>,
  actor: string,
): Done {
  const { id: account, suspended_at_ms, suspended_reason } = await customerNamed(context.store, order.customer)
  if (suspended_at_ms === null) throw refuse('This customer is not suspended.')
  const before = { state: 'suspended', reason: suspended_reason }
  const noted = { actor, act: 'customer.resume' as const, account, reason: order.reason ?? null, before }
  await commitAct(context, { ...noted, after: { state: 'active' } }, [{ op: 'resume', account }])
  return { customer: account }
}
