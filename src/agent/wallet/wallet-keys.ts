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
import { type AgentEnvironment, baseUrlOf, dataFolderOf } from '../settings/wallet-settings.ts'

export interface FoundKeys {
  /** One per rail, Base first. */
  keys: readonly WalletKey[]
  /** Address of an encrypted key that has not been opened; only for messages. */
  lockedWallet: string | null
}

/** Reads the environment's keys, one per rail, Base first. They take precedence over every file. */
export async function environmentKeys(env: AgentEnvironment): Promise<readonly WalletKey[]> {
  const { FAREBOX_WALLET_KEY: evm, FAREBOX_SOLANA_KEY: solana } = env
  return [...(evm?.trim() ? [await keyFromHex(evm)] : []), ...(solana?.trim() ? [solanaKeyFrom(solana)] : [])]
}

/**
 * Reads the keys of a data folder. An unencrypted one belongs to a local chain, so it works only for a service on this machine;
 * encrypted ones are opened with their passphrase or from the system's keychain.
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

/**
 * Returns the addresses of the environment's keys, the encrypted file or the local one, in this order; empty if there
 * is none.
 */
export async function knownAddresses(folder: string, env: AgentEnvironment): Promise<readonly string[]> {
  const given = await environmentKeys(env)
  if (given.length > 0) return given.map(key => key.address)
  const local = localKeyAddress(folder)
  return keyFileAddresses(folder) ?? (local === null ? [] : [local])
}

/** Creates new keys for both rails, encrypted in the folder and, if requested, in the system's keychain. */
export const createKeys = async (
  folder: string,
  passphrase: string,
  isForKeychain: boolean,
  keychain = systemKeychain,
): Promise<CreatedKeys> => createKeyFile(folder, passphrase, isForKeychain ? await keychain() : null)

/** Returns the folder's secret keys, for the user who knows the passphrase; null if there is no encrypted wallet. */
export const exportKeys = exportKeyFile

/** Whether nothing can pay because the folder's wallet is encrypted and only its passphrase opens it. */
export async function isWalletLocked({ env, apiKey }: AgentSettings): Promise<boolean> {
  if (apiKey || (await environmentKeys(env)).length > 0) return false
  const found = await folderKeys(dataFolderOf(env), baseUrlOf(env), null).catch(() => null)
  // If the keychain does not answer, only the passphrase is left.
  return found === null || found.lockedWallet !== null
}
