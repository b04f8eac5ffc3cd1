import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { type Address, type Hex, isHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { chainFolderOf, LocalChainError, makeChainFolder, solanaFolderOf } from './chain/folder.ts'

/** A key on the local chain. It holds only test money, so it is stored unencrypted in the data folder. */
interface LocalKey {
  privateKey: Hex
  address: Address
}

export interface LocalKeys {
  /** Receives top-ups. */
  payee: LocalKey
  /** Submits payments and pays their gas. */
  facilitator: LocalKey
  /** The assistant's wallet. */
  wallet: LocalKey
}

const PrivateKey = z.custom<Hex>(value => isHex(value) && value.length === 66)
const KeysFile = z.strictObject({ payee: PrivateKey, facilitator: PrivateKey, wallet: PrivateKey })

/**
 * Returns the keys of a data folder's local chain, created on the first call. Throws `LocalChainError` for a broken
 * file.
 */
export async function loadLocalKeys(dataDir: string): Promise<LocalKeys> {
  const folder = chainFolderOf(dataDir)
  await makeChainFolder(folder)
  const newKeys = () => ({ payee: newPrivateKey(), facilitator: newPrivateKey(), wallet: newPrivateKey() })
  const text = await readOrCreateKeys(folder.keys, newKeys)
  try {
    const { payee, facilitator, wallet } = KeysFile.parse(JSON.parse(text))
    return { payee: toKey(payee), facilitator: toKey(facilitator), wallet: toKey(wallet) }
  } catch {
    // Without a cause, because the unreadable text may be a key.
    throw new LocalChainError(`The test keys in ${folder.keys} cannot be read; restore the file or remove it.`)
  }
}

const toKey = (privateKey: Hex): LocalKey => ({ privateKey, address: privateKeyToAddress(privateKey) })

/** 32 random bytes are a valid key except with probability 2⁻¹²⁸, and then reading it back would fail. */
const newPrivateKey = (): Hex => `0x${randomBytes(32).toString('hex')}`

/** A key on the local chain. It holds only test money, so it is stored unencrypted in the data folder. */
interface LocalSolanaKey {
  /** Base58 of 64 bytes, as wallets export a key: the secret half first. */
  secretKey: string
  address: string
}

export interface LocalSolanaKeys {
  /** Receives top-ups. */
  payee: LocalSolanaKey
  /** Pays the fees of payments. */
  feePayer: LocalSolanaKey
  /** The assistant's wallet. */
  wallet: LocalSolanaKey
}

const seedBytes = 32
const keypairBytes = 64

/** The PKCS #8 prefix of an Ed25519 key, before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

const SecretKey = z.string().refine(text => {
  const bytes = decodeBase58(text, keypairBytes)
  return bytes !== null && secretKeyOf(bytes.subarray(0, seedBytes)) === text
})
const SolanaKeysFile = z.strictObject({ payee: SecretKey, feePayer: SecretKey, wallet: SecretKey })

/** Returns the Solana keys of a data folder, created on the first call. Throws `LocalChainError` for a broken file. */
export async function loadLocalSolanaKeys(dataDir: string): Promise<LocalSolanaKeys> {
  const folder = solanaFolderOf(dataDir)
  await makeChainFolder(folder)
  const text = await readOrCreateKeys(folder.keys, () => ({ payee: newKey(), feePayer: newKey(), wallet: newKey() }))
  try {
    const { payee, feePayer, wallet } = SolanaKeysFile.parse(JSON.parse(text))
    return { payee: toSolanaKey(payee), feePayer: toSolanaKey(feePayer), wallet: toSolanaKey(wallet) }
  } catch {
    // Without a cause, because the unreadable text may be a key.
    throw new LocalChainError(`The test keys in ${folder.keys} cannot be read; restore the file or remove it.`)
  }
}

const newKey = (): string => secretKeyOf(randomBytes(seedBytes))

function secretKeyOf(seed: Uint8Array): string {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  const publicBytes = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url')
  return encodeBase58(Buffer.concat([seed, publicBytes]))
}

function toSolanaKey(secretKey: string): LocalSolanaKey {
  const bytes = decodeBase58(secretKey, keypairBytes) ?? new Uint8Array()
  return { secretKey, address: encodeBase58(bytes.subarray(seedBytes)) }
}

/**
 * Returns the text of a key file, which is created if missing. If two processes start at once, both get the first
 * one's.
 */
async function readOrCreateKeys(path: string, newKeys: () => object): Promise<string> {
  return (await read(path)) ?? create(path, newKeys())
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Linked into place, so that the file is always complete. */
async function create(path: string, keys: object): Promise<string> {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, 'utf8')
}
