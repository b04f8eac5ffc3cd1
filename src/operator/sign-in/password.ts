import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { isSameSecret } from '#host/signatures/signatures.ts'

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

/** The cost that OWASP recommends for 32 MiB of memory: about a quarter of a second on a server. */
export const passwordCost = { logN: 15, r: 8, p: 3 }
const saltBytes = 16
const hashBytes = 32

type Cost = typeof passwordCost

/** Keyboards differ in how they compose a letter, so equal texts are compared in one form. */
const hashed = (password: string, salt: Uint8Array, { logN, r, p }: Cost): Promise<Buffer> =>
  derive(password.normalize('NFKC'), salt, hashBytes, { N: 2 ** logN, r, p, maxmem: 2 ** (logN + 8) * r })

const written = ({ logN, r, p }: Cost, salt: Buffer, hash: Buffer): string =>
  ['scrypt', logN, r, p, salt.toString('base64url'), hash.toString('base64url')].join('.')

/** Returns the hash with its salt and cost, as the ledger's store keeps it. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  return written(passwordCost, salt, await hashed(password, salt, passwordCost))
}

/** No password has this hash; checking one takes as long as with a real hash. */
const absentHash = () => written(passwordCost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))

/** Takes the same time without a hash, so that the time does not reveal which operators have a password. */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, logN, r, p, salt = '', right = ''] = (hash ?? absentHash()).split('.')
  const given = { logN: Number(logN), r: Number(r), p: Number(p) }
  const made = await hashed(password, Buffer.from(salt, 'base64url'), given)
  const expected = Buffer.from(right, 'base64url')
  return expected.length === made.length && timingSafeEqual(expected, made) && hash !== null
}

/** One-time codes by time (RFC 6238), with the terms that every authenticator supports. */
const stepMs = 30_000
const digits = 6
/** As long as the output of SHA-1, as RFC 4226 recommends. */
const secretBytes = 20
/** Clocks of telephones differ, and the code may change while a user types it. */
const stepsAround = 1

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A new secret in base32, as authenticators take it. */
export function newTotpSecret(): string {
  let bits = ''
  for (const byte of randomBytes(secretBytes)) bits += byte.toString(2).padStart(8, '0')
  return (bits.match(/.{5}/g) ?? []).map(five => alphabet[Number.parseInt(five, 2)]).join('')
}

function bytesOf(secret: string): Buffer {
  const bits = [...secret].map(letter => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

/** The code of a time step. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', bytesOf(secret)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  return `${(mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits}`.padStart(digits, '0')
}

/**
 * Returns the step that this code belongs to: near the current time, and after the last step that was used. Null if
 * the code fits no such step.
 */
export function totpStep(secret: string, code: string, nowMs: number, lastStep: number): number | null {
  const current = Math.floor(nowMs / stepMs)
  let found: number | null = null
  for (let step = current - stepsAround; step <= current + stepsAround; step++)
    // Every code is compared, so that the time reveals nothing.
    if (isSameSecret(code, totpCode(secret, step)) && step > lastStep) found = step
  return found
}

/** The URI that an authenticator scans. */
export const totpUri = (secret: string, operator: string): string =>
  `otpauth://totp/${encodeURIComponent('farebox console')}:${encodeURIComponent(operator)}?${new URLSearchParams({ secret, issuer: 'farebox console' }).toString().replaceAll('+', '%20')}`
