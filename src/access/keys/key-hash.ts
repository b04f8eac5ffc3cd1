import { createHmac, createSecretKey, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Prefix of every key, so that people and secret scanners recognize it. */
const marker = 'fb_'

const pattern = /^fb_[A-Za-z0-9_-]{43}$/

/** Random bytes of an API key's secret: 256 bits cannot be guessed, and the hash needs no salt. */
const keySecretBytes = 32

/** Characters of a key that lists show: enough to tell keys apart, while 184 bits stay unknown. */
const keyPrefixCharacters = 9

const keyEndingCharacters = 6

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
}

const markBytes = 4

export function keyHash(serverSecret: Uint8Array): KeyHash {
  // A derived key, so that nothing else signed with the server's secret can stand for a hash. Created once as an
  // object, because hashing with raw bytes takes ten times as long.
  const hashKey = createSecretKey(Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key hash', 32)))
  const mark = Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key mark', markBytes)).toString('hex')
  return { mark, hash: secret => `${mark}:${createHmac('sha256', hashKey).update(secret).digest('hex')}` }
}

/**
 * Returns the name under which a process caches a presented key. It does not contain the key, and costs a sixth of a
 * stored hash.
 */
export const keyName = (secret: string): string => hash('sha256', secret, 'base64url')

/** Returns the mark of a stored hash. */
export const markOf = (hash: string): string => hash.slice(0, 2 * markBytes)

/** Compares two hashes in constant time. */
export const sameHash = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
