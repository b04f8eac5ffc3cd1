import { randomBytes } from 'node:crypto'
import { type Address, type Hex, isHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { chainFolderOf, makeChainFolder } from './chain-folder.ts'
import { readOrCreateKeys } from './key-text.ts'
import { LocalChainError } from './local-chain-error.ts'

/** A key of the local chain. It holds test money only, so it lies in the data folder as it is. */
export interface LocalKey {
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

/** The keys of the local chain of a data folder, made at the first call. Throws `LocalChainError` for a broken file. */
export async function loadLocalKeys(dataDir: string): Promise<LocalKeys> {
  const folder = chainFolderOf(dataDir)
  await makeChainFolder(folder)
  const newKeys = () => ({ payee: newPrivateKey(), facilitator: newPrivateKey(), wallet: newPrivateKey() })
  const text = await readOrCreateKeys(folder.keys, newKeys)
  try {
    const { payee, facilitator, wallet } = KeysFile.parse(JSON.parse(text))
    return { payee: toKey(payee), facilitator: toKey(facilitator), wallet: toKey(wallet) }
  } catch {
    // Without a cause: what could not be read may be a key.
    throw new LocalChainError(`The test keys in ${folder.keys} cannot be read; restore the file or remove it.`)
  }
}

const toKey = (privateKey: Hex): LocalKey => ({ privateKey, address: privateKeyToAddress(privateKey) })

/** 32 random bytes are a valid key except once in 2¹²⁸ draws, which reading the key back would refuse. */
const newPrivateKey = (): Hex => `0x${randomBytes(32).toString('hex')}`
