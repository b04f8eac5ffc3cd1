import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '#contract/time.ts'
import type { Act } from '#ledger/accounts/operator-acts.ts'
import { noteAct } from '#ledger/accounts/operator-acts.ts'
import { commitSurely, type Refusal, type Store } from '#ledger/store/store.ts'
import type { OperatorTable } from '#ledger/store/tables.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type OperatorRole, operatorRoles } from '#pages/console/wire.ts'
import { refuse } from '../operator-refused.ts'

const Passkey = z.object({
  /** The credential's id in base64url. */
  id: z.string(),
  /** The public key in COSE and base64url. */
  publicKey: z.string(),
  /** The number of signatures, as the passkey reports it; always 0 for one that is shared between devices. */
  counter: z.number(),
  /** The host name for which it signs. */
  rpId: z.string(),
  label: z.string(),
  transports: z.array(z.string()),
  addedAtMs: z.number(),
  usedAtMs: z.number().nullable(),
})
export type Passkey = z.output<typeof Passkey>

const Password = z.object({
  /** The cost, the salt and the hash; see `password.ts`. */
  hash: z.string(),
  /** The secret of the one-time codes, encrypted. */
  sealedSecret: z.string(),
  /** The time step of the last code that was used. */
  lastStep: z.number(),
  setAtMs: z.number(),
})
export type PasswordProof = z.output<typeof Password>

/** The operator's ways to prove their identity. */
const Proofs = z.object({
  /** Identifies the operator to authenticators and reveals nothing about them. */
  handle: z.string(),
  passkeys: z.array(Passkey),
  password: Password.nullable(),
})
export type Proofs = z.output<typeof Proofs>

/** A named operator as the ledger's store has it. */
export interface NamedOperator {
  name: string
  role: OperatorRole
  /** Sessions contain it; changing it ends them. */
  epoch: string
  proofs: Proofs
  fence: number
  createdAtMs: number
}

const randomName = (bytes = 16): string => randomBytes(bytes).toString('base64url')

/** The operator can sign in only by a link. */
export const noProofs = (): Proofs => ({ handle: randomName(), passkeys: [], password: null })

export const newEpoch = (): string => randomName(9)

/** Letters and characters of a user name or an e-mail address, without spaces. */
export const operatorName = /^[\w.@+-]{1,64}$/

/** Named operators of one service; its owner knows each of them. */
export const mostOperators = 200

const operatorOf = ({ name, role, epoch, proofs, fence, created_at_ms }: OperatorTable): NamedOperator => ({
  ...{ name, epoch, fence, createdAtMs: created_at_ms },
  // A role from a later release gets the rights that every role has.
  role: operatorRoles.find(each => each === role) ?? 'read',
  proofs: Proofs.parse(JSON.parse(proofs)),
})

export async function readOperator({ read }: Pick<Store, 'read'>, name: string): Promise<NamedOperator | null> {
  const row = await read.selectFrom('operator').selectAll().where('name', '=', name).executeTakeFirst()
  return row ? operatorOf(row) : null
}

export async function readOperators({ read }: Pick<Store, 'read'>): Promise<NamedOperator[]> {
  return (await read.selectFrom('operator').selectAll().orderBy('name').execute()).map(operatorOf)
}

/** The new values; null removes the operator. */
type Change = Pick<NamedOperator, 'role' | 'epoch' | 'proofs'> | null

/**
 * Changes an operator if its row is unchanged, with the row of the log for an action. Returns why the ledger refused;
 * null if it did not.
 */
export async function moveOperator(
  { store, clock }: { store: Store; clock: Clock },
  { name, fence }: Pick<NamedOperator, 'name' | 'fence'>,
  change: Change,
  act?: Omit<Act, 'subject'>,
): Promise<Refusal | null> {
  const atMs = clock.now()
  const set = change && { role: change.role, epoch: change.epoch, proofs: JSON.stringify(change.proofs) }
  const noted = act ? [noteAct({ ...act, subject: name }, atMs)] : []
  const ops = [{ op: 'operator' as const, operator: name, fence, set, atMs }, ...noted]
  const outcome = await commitSurely(store, { id: `${uuidV7(atMs)}/operator`, ops })
  return outcome.ok ? null : outcome.why
}

const sentences: Partial<Record<Refusal, string>> = {
  operator_moved: 'The operator has just been changed; check it, then try again.',
  last_owner: 'This is the last owner; add another owner first.',
}

export const orRefuse = (why: Refusal | null): void => {
  if (why !== null) throw refuse(sentences[why] ?? `The ledger refused this: ${why}.`)
}

/** Lists the ways to sign in for the log, without their contents. */
export const proofsOf = ({ proofs: { passkeys, password } }: Pick<NamedOperator, 'proofs'>) => ({
  passkeys: passkeys.map(({ label }) => label),
  password: password !== null,
})
