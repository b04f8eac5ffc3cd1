import type { AgentSettings } from '../settings/settings.ts'
import { baseUrlOf, stateFolderOf } from '../settings/wallet-settings.ts'
import { environmentKeys, folderKeys } from './wallet-keys.ts'

/** Whether nothing pays because the folder's wallet is encrypted and only its passphrase opens it. */
export async function isWalletLocked({ env, apiKey }: AgentSettings): Promise<boolean> {
  if (apiKey || (await environmentKeys(env)).length > 0) return false
  const found = await folderKeys(stateFolderOf(env), baseUrlOf(env), null).catch(() => null)
  // A keychain that does not answer leaves the passphrase as the only way.
  return found === null || found.lockedWallet !== null
}
