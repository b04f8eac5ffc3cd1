import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { parseJsonWithUniqueNames } from '#contract/safe-json.ts'
import { keyFromHex, newKeyHex, type WalletKey } from './keys.ts'
import * as limits from './limits.ts'
import { readPrivateFile, writeNewPrivateFile } from './private-file.ts'
import { WalletRefusal } from './refusal.ts'

export const keyFileName = 'wallet.json'

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)
const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`))

/** The address stands in clear, so that it can be told without the passphrase; it is sealed with the key. */
const KeyFile = z.strictObject({
  farebox: z.literal('wallet-key'),
  version: z.literal(1),
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  derivation: z.strictObject({
    name: z.literal('scrypt'),
    logN: z.number().int().min(10).max(limits.maxKeyDerivationLogN),
    r: z.number().int().min(1).max(16),
    p: z.number().int().min(1).max(4),
    salt: hex(16),
  }),
  cipher: z.strictObject({ name: z.literal('aes-256-gcm'), iv: hex(12), tag: hex(16), text: hex(32) }),
})
type KeyFile = z.output<typeof KeyFile>

/** A new key in `wallet.json`, encrypted with the passphrase. An existing file is never replaced. */
export async function createKeyFile(folder: string, passphrase: string): Promise<{ address: string; path: string }> {
  checkPassphrase(passphrase)
  const secret = await newKeyHex()
  const { address } = await keyFromHex(secret)
  const derivation = { name: 'scrypt', ...limits.keyDerivation, salt: randomBytes(16).toString('hex') } as const
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(passphrase, derivation), iv)
  cipher.setAAD(sealed(address, derivation))
  const text = Buffer.concat([cipher.update(Buffer.from(secret.slice(2), 'hex')), cipher.final()])
  const file: KeyFile = {
    farebox: 'wallet-key',
    version: 1,
    address,
    derivation,
    cipher: {
      name: 'aes-256-gcm',
      iv: iv.toString('hex'),
      tag: cipher.getAuthTag().toString('hex'),
      text: text.toString('hex'),
    },
  }
  const path = join(folder, keyFileName)
  if (writeNewPrivateFile(folder, keyFileName, `${JSON.stringify(file, null, 2)}\n`)) return { address, path }
  throw refusal(`There is a wallet in ${path} already`, 'Move that file away first, or name another data folder.')
}

/** The address of the folder's encrypted key, without its passphrase; null where there is no key file. */
export function keyFileAddress(folder: string): string | null {
  return readKeyFile(folder)?.address ?? null
}

/** The folder's key; null where there is no key file. A wrong passphrase is a refusal. */
export async function unlockKeyFile(folder: string, passphrase: string): Promise<WalletKey | null> {
  const file = readKeyFile(folder)
  if (!file) return null
  const secret = decrypt(file, await deriveKey(passphrase, file.derivation))
  return keyFromHex(secret.toString('hex'))
}

function decrypt({ address, derivation, cipher }: KeyFile, key: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(cipher.iv, 'hex'), { authTagLength: 16 })
  decipher.setAAD(sealed(address, derivation))
  decipher.setAuthTag(Buffer.from(cipher.tag, 'hex'))
  try {
    return Buffer.concat([decipher.update(Buffer.from(cipher.text, 'hex')), decipher.final()])
  } catch {
    throw refusal(`The passphrase does not open the wallet ${address}, or its file was changed`, 'Try it again.')
  }
}

function readKeyFile(folder: string): KeyFile | null {
  const path = join(folder, keyFileName)
  const text = readPrivateFile(path, limits.maxKeyFileBytes, true)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const file = KeyFile.safeParse(json.ok ? json.value : undefined)
  if (file.success) return file.data
  throw refusal(`${path} is no key file of this version`, 'Restore it from a backup, or update farebox.')
}

/** What stands in clear can't be changed without the passphrase. */
const sealed = (address: string, { name, logN, r, p }: KeyFile['derivation']): Buffer =>
  Buffer.from(`farebox wallet-key 1 ${address} ${name} ${logN} ${r} ${p}`)

function deriveKey(passphrase: string, { logN, r, p, salt }: KeyFile['derivation']): Promise<Buffer> {
  const N = 2 ** logN
  // One text typed on two keyboards is one passphrase.
  return derive(passphrase.normalize('NFKC'), Buffer.from(salt, 'hex'), 32, { N, r, p, maxmem: 256 * N * r })
}

function checkPassphrase(passphrase: string): void {
  const { minPassphraseLength: least, maxPassphraseLength: most } = limits
  if (passphrase.length < least || passphrase.length > most)
    throw refusal(`A passphrase has ${least} to ${most} characters`, 'Choose another one; a few words are fine.')
}

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'key', sentence: `${sentence}.`, nextStep })
