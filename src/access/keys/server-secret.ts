import { createHmac, createSecretKey, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { type Act, noteAct } from '#ledger/accounts/operator-acts.ts'
import { nameCharacters } from '#ledger/bounds.ts'
import { commitSurely, type Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** Prefix of every key, so that people and secret scanners recognize it. */
const marker = 'fb_'

const pattern = /^fb_[A-Za-z0-9_-]{43}$/

/** Generates a key's secret, which is shown once and never stored. */
export const newKeySecret = (): string => `${marker}${randomBytes(keySecretBytes).toString('base64url')}`

/** Whether a text has the form of a key; any other text needs no look-up. */
export const isKeySecret = (text: string): boolean => pattern.test(text)

export const keyPrefix = (secret: string): string => secret.slice(0, keyPrefixCharacters)

export const keyEnding = (secret: string): string => secret.slice(-keyEndingCharacters)

/** Hashes keys with one server secret. The database alone, without that secret, cannot even confirm a key. */
export interface KeyHash {
  /** Distinguishes the server's secrets and reveals nothing about them: 8 hex characters. */
  mark: string
  /** Returns `mark:HMAC-SHA-256` in hex. The mark shows which keys need a former secret. */
  hash(secret: string): string
  /** Returns that hash, and the form without a mark that the first release stored. */
  everyHash(secret: string): readonly [marked: string, unmarked: string]
}

const markBytes = 4

export function keyHash(serverSecret: Uint8Array): KeyHash {
  // A derived key, so that nothing else signed with the server's secret can stand for a hash. Created once as an
  // object, because hashing with raw bytes takes ten times as long.
  const hashKey = createSecretKey(Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key hash', 32)))
  const mark = Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key mark', markBytes)).toString('hex')
  const everyHash = (secret: string) => {
    const unmarked = createHmac('sha256', hashKey).update(secret).digest('hex')
    return [`${mark}:${unmarked}`, unmarked] as const
  }
  return { mark, everyHash, hash: secret => everyHash(secret)[0] }
}

/**
 * Returns the name under which a process caches a presented key. It does not contain the key, and costs a sixth of a
 * stored hash.
 */
export const keyName = (secret: string): string => hash('sha256', secret, 'base64url')

/** Returns the mark of a stored hash; null for one from the first release. */
export const markOf = (hash: string): string | null => /^([0-9a-f]{8}):/.exec(hash)?.[1] ?? null

/** Compares two hashes in constant time. */
export const sameHash = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

/** Random bytes of an API key's secret: 256 bits cannot be guessed, and the hash needs no salt. */
const keySecretBytes = 32

/** Characters of a key that lists show: enough to tell keys apart, while 184 bits stay unknown. */
const keyPrefixCharacters = 9

const keyEndingCharacters = 6

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

/**
 * Counts the keys active at this time by the mark of the secret that they need; null stands for keys from the first
 * release.
 */
export async function liveKeysByMark(
  { read }: Pick<Ledger, 'read'>,
  atMs: number,
): Promise<{ mark: string | null; keys: number }[]> {
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
