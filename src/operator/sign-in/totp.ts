import { createHmac, randomBytes } from 'node:crypto'
import { isSameSecret } from '#host/signatures/signatures.ts'

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
