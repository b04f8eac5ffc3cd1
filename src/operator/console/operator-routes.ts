import { parseUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import { hashOfSecret, PageRefusal } from '#host/pages/page-guards.ts'
import type { Store } from '#ledger/store/store.ts'
import { entryRefs, type Op } from '#ledger/store/units.ts'
import type { OperatorRole } from '#pages/console/wire.ts'
import { OperatorRefused } from '../operator-refused.ts'
import { callOperator, isOperatorOperation } from '../queries/call-operator.ts'
import { chargeOf, grantRef } from '../queries/customer-acts.ts'
import { csvOf } from '../queries/entries.ts'
import { type CsvTable, NotAnswered, type OperatorContext } from '../queries/operator-context.ts'
import { type OperatorOperation, operatorActs, operatorOperations } from '../queries/wire.ts'
import type { Asked, ConsoleRoute, ConsoleRoutes, ProofNeed, RouteContext } from './console-route.ts'

type ActName = keyof typeof operatorActs

/** What each action requires: a minimum role, and a recent proof if it cannot be undone. */
const acts: Readonly<Record<ActName, Pick<ConsoleRoute, 'role' | 'proof'>>> = {
  'customer.create': { role: 'support' },
  'customer.change': { role: 'support' },
  'customer.credit': { role: 'owner', proof: isMuchCredit },
  'customer.refund': { role: 'support', proof: isMuchRefund },
  'customer.suspend': { role: 'support' },
  'customer.resume': { role: 'support' },
  'customer.limit': { role: 'owner' },
  'job.refund': { role: 'support', proof: isMuchJobRefund },
  'limit.unblock': { role: 'support' },
  'payment.check': { role: 'support' },
  'operator.create': { role: 'owner', proof: true },
  'operator.role': { role: 'owner', proof: true },
  'operator.remove': { role: 'owner', proof: true },
  'operator.reset': { role: 'owner', proof: true },
}

/** Only owners may list operators; every role may run the other queries. */
const ownersReads: readonly OperatorOperation[] = ['operators']

const needsOf = (name: OperatorOperation): Pick<ConsoleRoute, 'role' | 'proof'> => {
  if (Object.hasOwn(acts, name)) return acts[name as ActName]
  return { role: ownersReads.includes(name) ? 'owner' : 'read' }
}

/** Members that only owners may give, because an action for owners does the same. */
const ownersMembers: Readonly<Partial<Record<OperatorOperation, string>>> = { 'customer.create': 'plan' }

function refuseOwnersMember(name: OperatorOperation, body: object, role: OperatorRole): void {
  const member = ownersMembers[name]
  if (member === undefined || role === 'owner') return
  if (((body as Record<string, unknown>)[member] ?? null) === null) return
  const next = 'Leave it out. An operator with the role owner can set it.'
  throw new PageRefusal(403, `The role ${role} does not allow \`${member}\`.`, next)
}

const operatorContext = ({ store, clock, ledger, blocks, payments, beside }: RouteContext): OperatorContext => ({
  ...{ store, clock, ledger },
  ...(payments ? { payments } : {}),
  ...(blocks ? { blocks } : {}),
  ...(beside ? { beside } : {}),
})

/** Reports what is wrong with a query or an action. Nothing was changed. */
async function orRefused<Value>(run: () => Promise<Value>): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof OperatorRefused) throw new PageRefusal(409, error.message, 'Change it, then try again.')
    if (error instanceof NotAnswered) throw new PageRefusal(503, error.happened, error.next, error.retryAfterSeconds)
    throw error
  }
}

/** Runs one of the operators' operations in the name of the session. */
const operationRoute = (name: OperatorOperation): ConsoleRoute => ({
  ...needsOf(name),
  async run({ body, session, fence }, context) {
    refuseOwnersMember(name, body, session.role)
    const parts = { ...operatorContext(context), ...(fence ? { fence } : {}) }
    return orRefused(() => callOperator(parts, name, body as never, `console: ${session.by}`))
  },
})

/** A complete list as a file, written row by row as it is read. */
const csvRoute = (name: CsvTable): ConsoleRoute => ({
  role: 'read',
  async run({ body }, context) {
    const order = operatorOperations[name].input.safeParse(body)
    if (!order.success) throw new PageRefusal(400, 'The filter for the file is invalid.', 'Reload the page.')
    const rows = csvOf(operatorContext(context), name, order.data as never)
    // The first rows are read before the answer begins, so that an invalid filter gets a refusal instead of an
    // incomplete file.
    const first = await orRefused(() => rows.next())
    const texts = ReadableStream.from(
      (async function* () {
        if (!first.done) yield first.value
        yield* rows
      })(),
    )
    return new Response(texts.pipeThrough(new TextEncoderStream()), {
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${name}.csv"`,
      },
    })
  },
})

/** `POST /api/operator/NAME` for each of the operators' operations, and two lists as files. */
export const operatorRoutes: ConsoleRoutes = {
  ...Object.fromEntries(
    Object.keys(operatorOperations)
      .filter(isOperatorOperation)
      .map(name => [`POST /api/operator/${name}`, operationRoute(name)]),
  ),
  ...Object.fromEntries(
    (['entries', 'usage'] as const).map(name => [`POST /api/operator/${name}.csv`, csvRoute(name)]),
  ),
}

/**
 * The most that an operator may credit and refund in an hour without a recent proof. It limits what a stolen session can
 * give away.
 */
const unprovenCreditMicroUsd = 100_000_000n

/** The actions that give money to a customer; each logs its amount. */
const givingActs = ['customer.credit', 'customer.refund', 'job.refund'] as const

/** The number of the last hour's actions that are read. With more of them, a proof is required whatever their sum. */
const lookedAt = 500

type Order = Pick<Asked, 'body' | 'session'>
type Context = Pick<RouteContext, 'store' | 'clock'>

/** The action itself refuses an invalid order, and one that would give nothing more. */
const notNeeded: ProofNeed = { isNeeded: false }

/** Whether this credit exceeds the limit. A repeat credits nothing, so it needs no proof to return the first result. */
async function isMuchCredit({ body, session }: Order, context: Context): Promise<ProofNeed> {
  const order = operatorActs['customer.credit'].input.safeParse(body).data
  const amount = order ? parseUsd(order.usd) : null
  if (!order || amount === null) return notNeeded
  if (order.id !== undefined && (await hasEntry(context.store, grantRef(order.id)))) return notNeeded
  return isMuch(amount, session.by, context)
}

/** Whether the refund of this request exceeds the limit. */
async function isMuchRefund({ body, session }: Order, context: Context): Promise<ProofNeed> {
  const order = operatorActs['customer.refund'].input.safeParse(body).data
  return order ? isMuchCharge(order.request, session.by, context) : notNeeded
}

/** Whether the refund of this job exceeds the limit. */
async function isMuchJobRefund({ body, session }: Order, context: Context): Promise<ProofNeed> {
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
