import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { type Act, noteAct } from '#ledger/accounts/operator-acts.ts'
import { nameCharacters } from '#ledger/bounds.ts'
import { commitSurely, type Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { keyHash, markOf } from './key-hash.ts'

/** The marks (see `KeyHash.mark`) of the secret in use, which comes first, and of former ones. */
export type Marks = readonly [string, ...string[]]

export const marksOf = ([current, ...former]: readonly [string, ...string[]]): Marks => {
  const mark = (secret: string) => keyHash(Buffer.from(secret)).mark
  return [mark(current), ...former.map(mark)]
}

/** Describes where a service's folder with its secret is, for an operator. */
export const placeOf = (folder: string): string => `${hostname()}:${resolve(folder)}`

/** The ledger expects a different secret: keys made with this one would not work elsewhere. */
export class WrongSecret extends Error {
  /** The message without the advice that follows it. */
  readonly fact: string
  readonly nextStep: string

  constructor(fact: string) {
    const nextStep =
      'Use the former service’s secret: copy its file `secret`, or set the same FAREBOX_SECRET. Only if it is lost, run `farebox keys rotate-secret --break-keys`.'
    super(`${fact} ${nextStep}`)
    this.name = 'WrongSecret'
    this.fact = fact
    this.nextStep = nextStep
  }
}

/** The secret that the ledger last recorded; null before the first. */
export interface KnownSecret {
  generation: number
  mark: string
  place: string
}

type Ledger = Pick<Store, 'read' | 'commit'>

/**
 * Returns the generation to record, or null if the ledger already records this secret as current. Throws `WrongSecret`.
 */
export async function secretToNote(ledger: Pick<Ledger, 'read'>, marks: Marks, atMs: number): Promise<number | null> {
  const known = await knownSecret(ledger)
  if (known) {
    requireKnown(known, marks)
    return known.mark === marks[0] ? null : known.generation + 1
  }
  const needed = (await liveKeysByMark(ledger, atMs)).flatMap(({ mark }) => mark ?? [])
  if (needed.length > 0 && !needed.some(mark => marks.includes(mark))) {
    throw new WrongSecret(
      `This ledger has API keys made with another secret (mark ${needed[0]}) than the one used here.`,
    )
  }
  return 1
}

/** Throws `WrongSecret` if the ledger's recorded secret is none of these. */
export function requireKnown({ mark, place }: Omit<KnownSecret, 'generation'>, marks: Marks): void {
  if (marks.includes(mark)) return
  throw new WrongSecret(
    `This ledger belongs to the secret of the service in ${place} (mark ${mark}), but the secret used here is a different one (mark ${marks[0]}).`,
  )
}

/** An operator's action, logged in the unit that records the secret. */
type ByAct = Pick<Act, 'actor' | 'act'>

/**
 * Records the current secret in the ledger: the first one, or one that replaces a secret that is kept as a former one.
 * Throws `WrongSecret` if the ledger records another.
 */
export async function noteSecret(ledger: Ledger, marks: Marks, place: string, atMs: number, by?: ByAct): Promise<void> {
  for (;;) {
    const generation = await secretToNote(ledger, marks, atMs)
    // If several processes start together, one wins and the others check again.
    if (generation === null || (await append(ledger, { generation, mark: marks[0], place }, atMs, by))) return
  }
}

/** Makes the ledger accept this secret, whatever secret it recorded before; keys of the former one stop working. */
export async function replaceSecret(
  ledger: Ledger,
  mark: string,
  place: string,
  atMs: number,
  by?: ByAct,
): Promise<void> {
  for (;;) {
    const known = await knownSecret(ledger)
    if (known?.mark === mark) return
    if (await append(ledger, { generation: (known?.generation ?? 0) + 1, mark, place }, atMs, by)) return
  }
}

async function append(
  ledger: Ledger,
  { generation, mark, place }: KnownSecret,
  atMs: number,
  by?: ByAct,
): Promise<boolean> {
  const shortPlace = place.slice(0, nameCharacters).toWellFormed()
  const act = by ? [noteAct({ ...by, subject: mark }, atMs)] : []
  const recorded = { op: 'secret' as const, generation, mark, place: shortPlace, atMs }
  const unit = { id: `${uuidV7(atMs)}/secret`, ops: [recorded, ...act] }
  const outcome = await commitSurely(ledger, unit)
  if (outcome.ok || outcome.why === 'secret_moved') return outcome.ok
  throw new Error(`The store refused the mark of a secret: ${outcome.why}.`)
}

async function knownSecret({ read }: Pick<Ledger, 'read'>): Promise<KnownSecret | null> {
  const newest = read.selectFrom('secret_mark').select(['generation', 'mark', 'place']).orderBy('generation', 'desc')
  return (await newest.limit(1).executeTakeFirst()) ?? null
}

/** Counts the keys active at this time by the mark of the secret that they need. */
export async function liveKeysByMark(
  { read }: Pick<Ledger, 'read'>,
  atMs: number,
): Promise<{ mark: string; keys: number }[]> {
  const start = sql<string>`substr(hash, 1, 9)`
  const rows = await read
    .selectFrom('api_key')
    .select([start.as('start'), sql<number>`count(*)`.as('keys')])
    .where('revoked_at_ms', 'is', null)
    .where(where => where.or([where('expires_at_ms', 'is', null), where('expires_at_ms', '>', atMs)]))
    .groupBy(start)
    .execute()
  return rows.map(row => ({ mark: markOf(row.start), keys: Number(row.keys) }))
}
