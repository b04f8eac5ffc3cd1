import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { makeChainFolder, solanaFolderOf } from './chain-folder.ts'
import { readOrCreateKeys } from './key-text.ts'
import { LocalChainError } from './local-chain-error.ts'

/** A key of the local chain. It holds test money only, so it lies in the data folder as it is. */
export interface LocalSolanaKey {
  /** Base58 of 64 bytes, as wallets export a key: the secret half, then the public one. */
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

/** Everything in PKCS #8 of an Ed25519 key before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

const SecretKey = z.string().refine(text => {
  const bytes = decodeBase58(text, keypairBytes)
  return bytes !== null && secretKeyOf(bytes.subarray(0, seedBytes)) === text
})
const KeysFile = z.strictObject({ payee: SecretKey, feePayer: SecretKey, wallet: SecretKey })

/** The Solana keys of a data folder, made at the first call. Throws `LocalChainError` for a broken file. */
export async function loadLocalSolanaKeys(dataDir: string): Promise<LocalSolanaKeys> {
  const folder = solanaFolderOf(dataDir)
  await makeChainFolder(folder)
  const text = await readOrCreateKeys(folder.keys, () => ({ payee: newKey(), feePayer: newKey(), wallet: newKey() }))
  try {
    const { payee, feePayer, wallet } = KeysFile.parse(JSON.parse(text))
    return { payee: toKey(payee), feePayer: toKey(feePayer), wallet: toKey(wallet) }
  } catch {
    // Without a cause: what could not be read may be a key.
    throw new LocalChainError(`The test keys in ${folder.keys} cannot be read; restore the file or remove it.`)
  }
}

const newKey = (): string => secretKeyOf(randomBytes(seedBytes))

function secretKeyOf(seed: Uint8Array): string {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  const publicBytes = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url')
  return encodeBase58(Buffer.concat([seed, publicBytes]))
}

function toKey(secretKey: string): LocalSolanaKey {
  const bytes = decodeBase58(secretKey, keypairBytes) ?? new Uint8Array()
  return { secretKey, address: encodeBase58(bytes.subarray(seedBytes)) }
}
