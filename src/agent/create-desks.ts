import { defaultRails } from '#wallet/policy.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import { AgentDesks } from './agent-desks.ts'
import { ofWallet } from './explain.ts'
import { type FoundWallet, openCore } from './open-core.ts'
import type { AgentSettings } from './settings.ts'
import { folderKeys } from './wallet-keys.ts'
import { baseUrlOf, policyOf, stateFolderOf } from './wallet-settings.ts'

/** An agent from an environment's settings; the passphrase opens an encrypted wallet, where there is one. */
export async function createDesks(settings: AgentSettings, passphrase: string | null): Promise<AgentDesks> {
  const { env, payee, apiKey, walletKey, vendor, outputFolder } = settings
  const payees = payee === undefined ? [] : defaultRails.map(rail => ({ ...rail, payTo: payee }))
  const [baseUrl, stateFolder] = [baseUrlOf(env), stateFolderOf(env)]
  const policy = policyOf(env, { payees })
  const found = walletKey || apiKey ? {} : await inOurWords(findWallet(baseUrl, stateFolder, passphrase))
  const core = await openCore({ baseUrl, apiKey, walletKey, vendor, outputFolder, stateFolder, policy }, found)
  return new AgentDesks(core)
}

async function findWallet(baseUrl: string, stateFolder: string, passphrase: string | null): Promise<FoundWallet> {
  const { keys, lockedWallet } = await folderKeys(stateFolder, baseUrl, passphrase)
  return { key: keys[0], lockedWallet }
}

/** A wrong passphrase is told by the first tool that needs the wallet. */
const inOurWords = <Value>(work: Promise<Value>): Promise<Value> =>
  work.catch(error => {
    throw error instanceof WalletRefusal ? ofWallet(error) : error
  })
