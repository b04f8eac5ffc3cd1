import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import * as limits from '../limits.ts'
import { readPrivateFile, replacePrivateFile, writeNewPrivateFile } from '../private-file.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Keychain } from './keychain.ts'
import {
  exportedSolanaKey,
  keyFromHex,
  newKeyHex,
  newSolanaSeed,
  SolanaKey,
  seedBytes,
  type WalletKey,
} from './keys.ts'

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)
const hexOf = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`))

/** How a passphrase becomes a key; the parameters are those of RFC 7914. */
const Derivation = z.strictObject({
  name: z.literal('scrypt'),
  logN: z.number().int().min(10).max(limits.maxKeyDerivationLogN),
  r: z.number().int().min(1).max(16),
  p: z.number().int().min(1).max(4),
  salt: hexOf(16),
})
type Derivation = z.output<typeof Derivation>

/** AES-256-GCM over this many bytes. */
const cipherOf = (bytes: number) =>
  z.strictObject({ name: z.literal('aes-256-gcm'), iv: hexOf(12), tag: hexOf(16), text: hexOf(bytes) })
type Cipher = z.output<ReturnType<typeof cipherOf>>

const newDerivation = (): Derivation => ({
  name: 'scrypt',
  ...limits.keyDerivation,
  salt: randomBytes(16).toString('hex'),
})

/** `clear` is stored unencrypted beside the secret; it cannot be changed without the passphrase. */
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

/** Returns null if the passphrase is wrong, or anything was changed. The caller wipes the result. */
async function unseal(
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
  // The same text typed on two keyboards must be the same passphrase.
  return derive(passphrase.normalize('NFKC'), Buffer.from(salt, 'hex'), 32, { N, r, p, maxmem: 256 * N * r })
}

export const keyFileName = 'wallet.json'

const evmKeyBytes = 32
const EvmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/)

/** From earlier versions: only the EVM key. */
const FirstKeyFile = z.strictObject({
  farebox: z.literal('wallet-key'),
  version: z.literal(1),
  address: EvmAddress,
  derivation: Derivation,
  cipher: cipherOf(evmKeyBytes),
})

/**
 * Addresses are unencrypted, so that they can be shown without the passphrase; they are authenticated with the keys.
 */
const KeyFile = z.strictObject({
  farebox: z.literal('wallet-key'),
  version: z.literal(2),
  evmAddress: EvmAddress,
  solanaAddress: z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/),
  /** Whether the system's keychain has the keys too, under the EVM address. */
  isInKeychain: z.boolean(),
  derivation: Derivation,
  /** The EVM key, then the seed of the Solana key. */
  cipher: cipherOf(evmKeyBytes + seedBytes),
})

/** Either version, parsed. */
interface KeyRecord {
  addresses: readonly string[]
  isInKeychain: boolean
  /** The members of the file beside its derivation and cipher. */
  fields: object
  /** The unencrypted part, exactly as it was authenticated. */
  clear: (derivation: Derivation) => string
  derivation: Derivation
  cipher: Cipher
}

export interface CreatedKeys {
  /** The address on Base. */
  address: string
  solanaAddress: string
  path: string
}

/**
 * Creates new keys in `wallet.json`, encrypted with the passphrase, and also in the keychain if one is passed. An
 * existing file is never replaced.
 */
export async function createKeyFile(
  folder: string,
  passphrase: string,
  keychain: Keychain | null = null,
): Promise<CreatedKeys> {
  checkPassphrase(passphrase)
  const path = join(folder, keyFileName)
  refuseSecondKeyFile(folder)
  const secret = Buffer.concat([Buffer.from((await newKeyHex()).slice(2), 'hex'), newSolanaSeed()])
  try {
    const [evm, solana] = await keysOf(secret)
    if (!evm || !solana) throw new Error('A new wallet has two keys.')
    const clear = { evmAddress: evm.address, solanaAddress: solana.address, isInKeychain: keychain !== null }
    const derivation = newDerivation()
    const cipher = await seal(secret, sealed(clear, derivation), passphrase, derivation)
    const file: z.output<typeof KeyFile> = { farebox: 'wallet-key', version: 2, ...clear, derivation, cipher }
    // Comes first, because it may fail: a key file must not claim that keys are in a keychain that has none.
    await keychain?.write(evm.address, secret.toString('hex'))
    if (!writeNewPrivateFile(folder, keyFileName, `${JSON.stringify(file, null, 2)}\n`)) throw existing(path)
    return { address: evm.address, solanaAddress: solana.address, path }
  } finally {
    secret.fill(0)
  }
}

/** Refuses if the folder has a key file, whatever its content. */
export function refuseSecondKeyFile(folder: string): void {
  const path = join(folder, keyFileName)
  if (existsSync(path)) throw existing(path)
}

/**
 * Returns the addresses of the folder's encrypted keys, Base first, without the passphrase; null if there is no key
 * file.
 */
export const keyFileAddresses = (folder: string): readonly string[] | null => readKeyFile(folder)?.addresses ?? null

/** Returns the address on Base. */
export const keyFileAddress = (folder: string): string | null => keyFileAddresses(folder)?.[0] ?? null

/**
 * Returns the folder's keys, one per rail, Base first; null if there is no key file. A wrong passphrase is a refusal.
 */
export async function unlockKeyFile(folder: string, passphrase: string): Promise<readonly WalletKey[] | null> {
  const file = readKeyFile(folder)
  if (!file) return null
  const secret = await opened(file, passphrase)
  const keys = await keysOf(secret).finally(() => secret.fill(0))
  if (keys.map(key => key.address).join() === file.addresses.join()) return keys
  throw refusal(`The wallet file of ${file.addresses[0]} does not contain its keys`, 'Restore it from a backup.')
}

/** Returns the folder's keys from the keychain; null unless the file says that they are in one. */
export async function unlockByKeychain(
  folder: string,
  keychain: () => Promise<Keychain>,
): Promise<readonly WalletKey[] | null> {
  const file = readKeyFile(folder)
  const [name] = file?.addresses ?? []
  if (!file?.isInKeychain || name === undefined) return null
  const text = await (await keychain()).read(name)
  if (text === null)
    throw refusal(`The system keychain does not have the keys of ${name}`, 'Unlock them with `--passphrase-file`.')
  const keys = await keysOf(Buffer.from(text, 'hex')).catch(() => [])
  if (keys.map(key => key.address).join() === file.addresses.join()) return keys
  throw refusal(
    `The entry of ${name} in the system keychain does not contain its keys`,
    'Unlock them with `--passphrase-file`.',
  )
}

/**
 * Returns the secret keys by rail, in the form that other wallets import. Only for a user who has entered the
 * passphrase.
 */
export async function exportKeyFile(
  folder: string,
  passphrase: string,
): Promise<{ evm: string; solana: string | null } | null> {
  const file = readKeyFile(folder)
  if (!file) return null
  const secret = await opened(file, passphrase)
  try {
    const seed = secret.subarray(evmKeyBytes)
    return {
      evm: `0x${secret.toString('hex', 0, evmKeyBytes)}`,
      solana: seed.length === 0 ? null : exportedSolanaKey(seed),
    }
  } finally {
    secret.fill(0)
  }
}

/**
 * Encrypts the folder's keys with another passphrase; the keys and a copy in the keychain stay the same. Returns false if
 * there is no key file. The old file is replaced in one step, so a crash leaves either passphrase valid, never neither.
 */
export async function changePassphrase(folder: string, present: string, next: string): Promise<boolean> {
  const file = readKeyFile(folder)
  if (!file) return false
  const secret = await opened(file, present)
  try {
    checkPassphrase(next)
    const derivation = newDerivation()
    const cipher = await seal(secret, file.clear(derivation), next, derivation)
    replacePrivateFile(folder, keyFileName, `${JSON.stringify({ ...file.fields, derivation, cipher }, null, 2)}\n`)
    return true
  } finally {
    secret.fill(0)
  }
}

async function opened({ cipher, clear, derivation, addresses }: KeyRecord, passphrase: string): Promise<Buffer> {
  const secret = await unseal(cipher, clear(derivation), passphrase, derivation)
  if (secret) return secret
  throw refusal(
    `The passphrase is wrong for the wallet ${addresses[0]}, or its file was changed`,
    'Check the passphrase.',
  )
}

async function keysOf(secret: Buffer): Promise<WalletKey[]> {
  const evm = await keyFromHex(secret.toString('hex', 0, evmKeyBytes))
  const seed = secret.subarray(evmKeyBytes)
  return seed.length === 0 ? [evm] : [evm, new SolanaKey(seed)]
}

function readKeyFile(folder: string): KeyRecord | null {
  const path = join(folder, keyFileName)
  const text = readPrivateFile(path, limits.maxKeyFileBytes, true)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const file = z.discriminatedUnion('version', [FirstKeyFile, KeyFile]).safeParse(json.ok ? json.value : undefined)
  if (!file.success)
    throw refusal(`${path} is not a key file of this version`, 'Restore it from a backup, or update farebox.')
  const { derivation, cipher, ...fields } = file.data
  if (fields.version === 1) {
    const clear = (by: Derivation) => `farebox wallet-key 1 ${fields.address} ${costOf(by)}`
    return { addresses: [fields.address], isInKeychain: false, fields, clear, derivation, cipher }
  }
  const { evmAddress, solanaAddress, isInKeychain } = fields
  const clear = (by: Derivation) => sealed(fields, by)
  return { addresses: [evmAddress, solanaAddress], isInKeychain, fields, clear, derivation, cipher }
}

type InClear = Pick<z.output<typeof KeyFile>, 'evmAddress' | 'solanaAddress' | 'isInKeychain'>

const sealed = ({ evmAddress, solanaAddress, isInKeychain }: InClear, derivation: Derivation): string =>
  `farebox wallet-key 2 ${evmAddress} ${solanaAddress} ${isInKeychain} ${costOf(derivation)}`

const costOf = ({ name, logN, r, p }: Derivation): string => `${name} ${logN} ${r} ${p}`

function checkPassphrase(passphrase: string): void {
  const { minPassphraseLength: least, maxPassphraseLength: most } = limits
  if (passphrase.length < least || passphrase.length > most)
    throw refusal(
      `A passphrase must have ${least} to ${most} characters`,
      'Choose another one, for example a few words.',
    )
}

const existing = (path: string): WalletRefusal =>
  refusal(
    `There is already a wallet in ${path}`,
    'Use it, move the file away, or choose another folder with `--data` or FAREBOX_DATA.',
  )

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'key', sentence: `${sentence}.`, nextStep })
