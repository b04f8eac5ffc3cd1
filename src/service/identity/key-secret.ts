import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { keyPrefixCharacters, keySecretBytes } from './bounds.ts'

/** Starts every key, so that people and secret scanners recognise one. */
const marker = 'fb_'

const pattern = /^fb_[A-Za-z0-9_-]{43}$/

/** What only its owner keeps; shown once. */
export const newKeySecret = (): string => `${marker}${randomBytes(keySecretBytes).toString('base64url')}`

/** Whether a text can be a key at all; what cannot costs no look-up. */
export const isKeySecret = (text: string): boolean => pattern.test(text)

export const keyPrefix = (secret: string): string => secret.slice(0, keyPrefixCharacters)

/** HMAC-SHA-256 as hex. The database alone, without the server's secret, cannot even confirm a key. */
export type KeyHash = (secret: string) => string

export function keyHash(serverSecret: Uint8Array): KeyHash {
  // A key of its own, so that nothing else signed with the server's secret can stand for a hash.
  const hashKey = Buffer.from(hkdfSync('sha256', serverSecret, '', 'farebox api key hash', 32))
  return secret => createHmac('sha256', hashKey).update(secret).digest('hex')
}

/** Compares two hashes of equal length in constant time. */
export const sameHash = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
