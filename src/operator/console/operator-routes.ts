import { PageRefusal } from '#host/pages/page-refusal.ts'
import type { OperatorRole } from '#pages/console/wire.ts'
import { OperatorRefused } from '../operator-refused.ts'
import { callOperator, isOperatorOperation } from '../queries/call-operator.ts'
import { csvOf } from '../queries/entries.ts'
import { type CsvTable, NotAnswered, type OperatorContext } from '../queries/operator-context.ts'
import { type OperatorOperation, type operatorActs, operatorOperations } from '../queries/wire.ts'
import type { ConsoleRoute, ConsoleRoutes, RouteContext } from './console-route.ts'
import { isMuchCredit, isMuchJobRefund, isMuchRefund } from './much-credit.ts'

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
