import { refuse } from '../operator-refused.ts'
import {
  mostOperators,
  moveOperator,
  type NamedOperator,
  newEpoch,
  noProofs,
  orRefuse,
  proofsOf,
  readOperator,
  readOperators,
} from '../sign-in/operator-rows.ts'
import { OperatorSessions } from '../sign-in/operator-sessions.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/**
 * Manages the operators who can sign in to the console without a terminal. Each action and its row of the audit log are
 * one unit of the ledger.
 */

type Done = Promise<OperatorAnswer<'operator.create'>>

export async function operators({ store }: OperatorContext): Promise<OperatorAnswer<'operators'>> {
  return {
    operators: (await readOperators(store)).map(({ name, role, proofs, createdAtMs }) => ({
      ...{ name, role, createdAtMs, passkeys: proofs.passkeys.length, hasPassword: proofs.password !== null },
    })),
  }
}

async function operatorNamed(context: Pick<OperatorContext, 'store'>, name: string): Promise<NamedOperator> {
  const found = await readOperator(context.store, name)
  if (!found) throw refuse(`There is no operator ${name}.`)
  return found
}

export async function createOperator(
  context: OperatorContext,
  { operator: name, role }: OperatorOrder<'operator.create'>,
  actor: string,
): Done {
  const known = await readOperators(context.store)
  if (known.some(each => each.name === name)) throw refuse(`The operator ${name} already exists.`)
  if (known.length >= mostOperators) throw refuse(`A service has at most ${mostOperators} operators; remove one first.`)
  const fresh = { role, epoch: newEpoch(), proofs: noProofs() }
  const act = { actor, act: 'operator.create' as const, after: { role } }
  orRefuse(await moveOperator(context, { name, fence: 0 }, fresh, act))
  // Sessions from links without a name would survive every later removal.
  await new OperatorSessions(context).endOf(name)
  return { operator: name }
}

export async function changeRole(
  context: OperatorContext,
  { operator: name, role }: OperatorOrder<'operator.role'>,
  actor: string,
): Done {
  const found = await operatorNamed(context, name)
  const act = { actor, act: 'operator.role' as const, before: { role: found.role }, after: { role } }
  orRefuse(await moveOperator(context, found, { ...found, role }, act))
  return { operator: name }
}

/** Also ends all of the operator's sessions and links. */
export async function removeOperator(
  context: OperatorContext,
  { operator: name, reason }: OperatorOrder<'operator.remove'>,
  actor: string,
): Done {
  const found = await operatorNamed(context, name)
  const act = { actor, act: 'operator.remove' as const, reason: reason ?? null, before: { role: found.role } }
  orRefuse(await moveOperator(context, found, null, act))
  await new OperatorSessions(context).endOf(name)
  return { operator: name }
}

/** Removes the operator's passkeys and ends all sessions. The operator can sign in again with a new link. */
export async function resetOperator(
  context: OperatorContext,
  { operator: name, reason }: OperatorOrder<'operator.reset'>,
  actor: string,
): Done {
  const found = await operatorNamed(context, name)
  const act = { actor, act: 'operator.reset' as const, reason: reason ?? null, before: proofsOf(found) }
  const change = { role: found.role, epoch: newEpoch(), proofs: noProofs() }
  orRefuse(await moveOperator(context, found, change, { ...act, after: proofsOf(change) }))
  await new OperatorSessions(context).endOf(name)
  return { operator: name }
}
