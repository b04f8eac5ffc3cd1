import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import * as limits from '../limits.ts'

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)
export const hexOf = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`))

/** How a passphrase becomes a key; RFC 7914 has the letters. */
export const Derivation = z.strictObject({
  name: z.literal('scrypt'),
  logN: z.number().int().min(10).max(limits.maxKeyDerivationLogN),
  r: z.number().int().min(1).max(16),
  p: z.number().int().min(1).max(4),
  salt: hexOf(16),
})
export type Derivation = z.output<typeof Derivation>

/** AES-256-GCM over so many bytes. */
export const cipherOf = (bytes: number) =>
  z.strictObject({ name: z.literal('aes-256-gcm'), iv: hexOf(12), tag: hexOf(16), text: hexOf(bytes) })
export type Cipher = z.output<ReturnType<typeof cipherOf>>

export const newDerivation = (): Derivation => ({
  name: 'scrypt',
  ...limits.keyDerivation,
  salt: randomBytes(16).toString('hex'),
})

/** `clear` is what stands beside the secret in clear; it can't be changed without the passphrase. */
export async function seal(
  secret: Uint8Array,
  clear: string,
  passphrase: string,
  derivation: Derivation,
): Promise<Cipher> {
  const iv = randomBytes(12)
  const key = await keyOf(passphrase, derivation)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(clear))
  const text = Buffer.concat([cipher.update(secret), cipher.final()])
  key.fill(0)
  return {
    name: 'aes-256-gcm',
    iv: iv.toString('hex'),
    tag: cipher.getAuthTag().toString('hex'),
    text: text.toString('hex'),
  }
}

/** Null where the passphrase is another one, or anything was changed. The caller wipes what it is handed. */
export async function unseal(
  cipher: Cipher,
  clear: string,
  passphrase: string,
  derivation: Derivation,
): Promise<Buffer | null> {
  const key = await keyOf(passphrase, derivation)
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(cipher.iv, 'hex'), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(clear))
  decipher.setAuthTag(Buffer.from(cipher.tag, 'hex'))
  try {
    return Buffer.concat([decipher.update(Buffer.from(cipher.text, 'hex')), decipher.final()])
  } catch {
    return null
  } finally {
    key.fill(0)
  }
}

function keyOf(passphrase: string, { logN, r, p, salt }: Derivation): Promise<Buffer> {
  const N = 2 ** logN
  // One text typed on two keyboards is one passphrase.
  return derive(passphrase.normalize('NFKC'), Buffer.from(salt, 'hex'), 32, { N, r, p, maxmem: 256 * N * r })
}
