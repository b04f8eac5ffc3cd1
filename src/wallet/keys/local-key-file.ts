import { join } from 'node:path'
import { z } from 'zod'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { maxKeyFileBytes } from '../limits.ts'
import { readPrivateFile, writeNewPrivateFile } from '../private-file.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { keyFromHex, newKeyHex, type WalletKey } from './keys.ts'

export const localKeyFileName = 'local-wallet.json'

/** A chain whose money is test money, according to the wallet's owner. */
export interface LocalChain {
  isLocal: boolean
}

const LocalKeyFile = z.strictObject({
  farebox: z.literal('local-chain-key'),
  version: z.literal(1),
  address: z.string(),
  key: z.string(),
})

/** Returns the folder's unencrypted key for a local chain, created if missing. Refuses for every other chain. */
export async function localKey(folder: string, chain: LocalChain): Promise<WalletKey> {
  refuseOtherChains(chain)
  const key = await readLocalKey(folder)
  if (key) return key
  const secret = await newKeyHex()
  const { address } = await keyFromHex(secret)
  const file = { farebox: 'local-chain-key', version: 1, address, key: secret }
  writeNewPrivateFile(folder, localKeyFileName, `${JSON.stringify(file, null, 2)}\n`)
  // Another process may have been first; the key on disk is the one that counts.
  const written = await readLocalKey(folder)
  if (written) return written
  throw unreadable(folder)
}

/** Returns the address of the folder's local key; null if there is none. */
export const localKeyAddress = (folder: string): string | null => readFile(folder)?.address ?? null

async function readLocalKey(folder: string): Promise<WalletKey | null> {
  const file = readFile(folder)
  return file && keyFromHex(file.key)
}

function readFile(folder: string): z.output<typeof LocalKeyFile> | null {
  const text = readPrivateFile(join(folder, localKeyFileName), maxKeyFileBytes, true)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const file = LocalKeyFile.safeParse(json.ok ? json.value : undefined)
  if (file.success) return file.data
  throw unreadable(folder)
}

function refuseOtherChains(chain: LocalChain): void {
  if (chain.isLocal) return
  throw new WalletRefusal({
    rule: 'key',
    sentence: 'An unencrypted key file is allowed only for a local chain on this machine.',
    nextStep: 'Run `farebox wallet create` for an encrypted one.',
  })
}

const unreadable = (folder: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'key',
    sentence: `${join(folder, localKeyFileName)} cannot be read as a key of a local chain.`,
    nextStep: 'Remove it; a new key will be created.',
  })
