import { createHmac, createSecretKey, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { nameCharacters } from '#ledger/bounds.ts'
import { commitSurely, type Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** Starts every key, so that people and secret scanners recognise one. */
const marker = 'fb_'

const pattern = /^fb_[A-Za-z0-9_-]{43}$/

/** What only its owner keeps; shown once. */
export const newKeySecret = (): string => `${marker}${randomBytes(keySecretBytes).toString('base64url')}`

/** Whether a text can be a key at all; what cannot costs no look-up. */
export const isKeySecret = (text: string): boolean => pattern.test(text)

export const keyPrefix = (secret: string): string => secret.slice(0, keyPrefixCharacters)

export const keyEnding = (secret: string): string => secret.slice(-keyEndingCharacters)

/** How one server secret names keys. The database alone, without that secret, cannot even confirm a key. */
export interface KeyHash {
  /** Tells the server's secrets apart, and nothing about them: 8 hex characters. */
  mark: string
  /** `mark:HMAC-SHA-256`, as hex: so that it can be seen which keys need a former secret. */
  hash(secret: string): string
  /** The same, and as the first release stored it, without the mark. */
  everyHash(secret: string): readonly [marked: string, unmarked: string]
}

const markBytes = 4

export function keyHash(serverSecret: Uint8Array): KeyHash {
  // A key of its own, so that nothing else signed with the server's secret can stand for a hash. Made into an object once,
  // because from plain bytes each hash would take ten times as long.
  const hashKey = createSecretKey(Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key hash', 32)))
  const mark = Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key mark', markBytes)).toString('hex')
  const everyHash = (secret: string) => {
    const unmarked = createHmac('sha256', hashKey).update(secret).digest('hex')
    return [`${mark}:${unmarked}`, unmarked] as const
  }
  return { mark, everyHash, hash: secret => everyHash(secret)[0] }
}

/** What a process remembers a presented key by: not the key itself, and six times cheaper than a hash that is stored. */
export const keyName = (secret: string): string => hash('sha256', secret, 'base64url')

/** The mark that a stored hash bears; null for one of the first release. */
export const markOf = (hash: string): string | null => /^([0-9a-f]{8}):/.exec(hash)?.[1] ?? null

/** Whether two hashes are the same, in constant time. */
export const sameHash = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

/** Random bytes of an API key's secret: 256 bits, so that guessing is hopeless and the hash needs no salt. */
const keySecretBytes = 32

/** Characters of a key that lists show: enough to tell keys apart, and 184 bits stay unknown. */
const keyPrefixCharacters = 9

const keyEndingCharacters = 6

/** The first is in use, former ones follow: `KeyHash.mark`. */
export type Marks = readonly [string, ...string[]]

export const marksOf = ([current, ...former]: readonly [string, ...string[]]): Marks => {
  const mark = (secret: string) => keyHash(Buffer.from(secret)).mark
  return [mark(current), ...former.map(mark)]
}

/** How an operator finds a service's folder, with its secret in it. */
export const placeOf = (folder: string): string => `${hostname()}:${resolve(folder)}`

/** The ledger expects another secret than the one at hand: keys made with this one would open nothing. */
export class WrongSecret extends Error {
  /** The message is the fact and this. */
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

/** Which secret the ledger knows last; null where it knows none. */
export interface KnownSecret {
  generation: number
  mark: string
  place: string
}

type Ledger = Pick<Store, 'read' | 'commit'>

/** Answers what is to be written down: nothing, where the ledger knows this secret as the one in use. Throws `WrongSecret`. */
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

/** Throws `WrongSecret` where the secret that the ledger knows last is none of these. */
export function requireKnown({ mark, place }: Omit<KnownSecret, 'generation'>, marks: Marks): void {
  if (marks.includes(mark)) return
  throw new WrongSecret(
    `This ledger belongs to the secret of the service in ${place} (mark ${mark}), but the secret used here is a different one (mark ${marks[0]}).`,
  )
}

/**
 * Lets the ledger know the secret in use: a first one, or one that has replaced what it knew while that is kept as a
 * former one. Throws `WrongSecret` where it knows another.
 */
export async function noteSecret(ledger: Ledger, marks: Marks, place: string, atMs: number): Promise<void> {
  for (;;) {
    const generation = await secretToNote(ledger, marks, atMs)
    // Of processes that start together one is first; the others look again.
    if (generation === null || (await append(ledger, { generation, mark: marks[0], place }, atMs))) return
  }
}

/** Lets the ledger go by this secret, whatever it knew: keys of the former one end. */
export async function replaceSecret(ledger: Ledger, mark: string, place: string, atMs: number): Promise<void> {
  for (;;) {
    const known = await knownSecret(ledger)
    if (known?.mark === mark) return
    if (await append(ledger, { generation: (known?.generation ?? 0) + 1, mark, place }, atMs)) return
  }
}

async function append(ledger: Ledger, { generation, mark, place }: KnownSecret, atMs: number): Promise<boolean> {
  const told = place.slice(0, nameCharacters).toWellFormed()
  const unit = { id: `${uuidV7(atMs)}/secret`, ops: [{ op: 'secret', generation, mark, place: told, atMs } as const] }
  const outcome = await commitSurely(ledger, unit)
  if (outcome.ok || outcome.why === 'secret_moved') return outcome.ok
  throw new Error(`The store refused the mark of a secret: ${outcome.why}.`)
}

async function knownSecret({ read }: Pick<Ledger, 'read'>): Promise<KnownSecret | null> {
  const newest = read.selectFrom('secret_mark').select(['generation', 'mark', 'place']).orderBy('generation', 'desc')
  return (await newest.limit(1).executeTakeFirst()) ?? null
}

/** Of all keys that count at this time: how many need the secret of a mark; null stands for keys of the first release. */
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
