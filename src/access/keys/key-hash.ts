import { createHmac, createSecretKey, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

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

/** Every limit of identifying callers, with its unit. */

/** Random bytes of an API key's secret: 256 bits, so that guessing is hopeless and the hash needs no salt. */
const keySecretBytes = 32

/** Characters of a key that lists show: enough to tell keys apart, and 184 bits stay unknown. */
const keyPrefixCharacters = 9

const keyEndingCharacters = 6

/** Characters of a key's label, as the published contract has it. */
export const keyLabelCharacters = 64

/** Keys that one account may list at once; the published contract allows 500 active ones. */
export const listedKeys = 1_000

/** How long a key that was found may be used without looking again: revocation in another process takes no longer. */
export const keyCacheMs = 1_000

/** Keys in that cache: more than one second of callers. */
export const cachedKeys = 10_000
