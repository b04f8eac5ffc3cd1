import { isLoopback } from '#contract/wire/network-address.ts'
import {
  type CreatedKeys,
  createKeyFile,
  exportKeyFile,
  keyFileAddresses,
  unlockByKeychain,
  unlockKeyFile,
} from '#wallet/keys/key-file.ts'
import { systemKeychain } from '#wallet/keys/keychain.ts'
import { keyFromHex, solanaKeyFrom, type WalletKey } from '#wallet/keys/keys.ts'
import { localKey, localKeyAddress } from '#wallet/keys/local-key-file.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { type AgentEnvironment, baseUrlOf, stateFolderOf } from '../settings/wallet-settings.ts'

export interface FoundKeys {
  /** One a rail, Base first. */
  keys: readonly WalletKey[]
  /** Address of an encrypted key that nobody has opened; for words only. */
  lockedWallet: string | null
}

/** The environment's keys, one a rail, Base first. They win over every file. */
export async function environmentKeys(env: AgentEnvironment): Promise<readonly WalletKey[]> {
  const { FAREBOX_WALLET_KEY: evm, FAREBOX_SOLANA_KEY: solana } = env
  return [...(evm?.trim() ? [await keyFromHex(evm)] : []), ...(solana?.trim() ? [solanaKeyFrom(solana)] : [])]
}

/**
 * The keys of a data folder. A plain one serves only a service of this machine, because it is one of a local chain; the
 * encrypted ones open by their passphrase or by the system's keychain.
 */
export async function folderKeys(
  folder: string,
  baseUrl: string,
  passphrase: string | null,
  keychain = systemKeychain,
): Promise<FoundKeys> {
  const isLocal = isLoopback(new URL(baseUrl).hostname)
  if (isLocal && localKeyAddress(folder) !== null)
    return { keys: [await localKey(folder, { isLocal })], lockedWallet: null }
  const keys = passphrase === null ? await unlockByKeychain(folder, keychain) : await unlockKeyFile(folder, passphrase)
  return keys ? { keys, lockedWallet: null } : { keys: [], lockedWallet: keyFileAddresses(folder)?.[0] ?? null }
}

/** Of the environment's keys, the encrypted file or the local one, in this order; empty where there is none. */
export async function knownAddresses(folder: string, env: AgentEnvironment): Promise<readonly string[]> {
  const given = await environmentKeys(env)
  if (given.length > 0) return given.map(key => key.address)
  const local = localKeyAddress(folder)
  return keyFileAddresses(folder) ?? (local === null ? [] : [local])
}

/** New keys for both rails, encrypted in the folder, and in the system's keychain where that is wanted. */
export const createKeys = async (
  folder: string,
  passphrase: string,
  isForKeychain: boolean,
  keychain = systemKeychain,
): Promise<CreatedKeys> => createKeyFile(folder, passphrase, isForKeychain ? await keychain() : null)

/** The folder's secret keys, for the user who knows the passphrase; null where there is no encrypted wallet. */
export const exportKeys = exportKeyFile

/** Whether nothing pays because the folder's wallet is encrypted and only its passphrase opens it. */
export async function isWalletLocked({ env, apiKey }: AgentSettings): Promise<boolean> {
  if (apiKey || (await environmentKeys(env)).length > 0) return false
  const found = await folderKeys(stateFolderOf(env), baseUrlOf(env), null).catch(() => null)
  // A keychain that does not answer leaves the passphrase as the only way.
  return found === null || found.lockedWallet !== null
}
