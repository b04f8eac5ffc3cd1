import { WalletRefusal } from '#wallet/refusal.ts'
import { AgentDesks } from './agent-desks.ts'
import { ofWallet } from './explain.ts'
import { type FoundWallet, openCore } from './open-core.ts'
import type { AgentSettings } from './settings.ts'
import { environmentKeys, folderKeys } from './wallet-keys.ts'
import { baseUrlOf, journalUrlOf, nodesOf, payeesNamed, policyOf, stateFolderOf } from './wallet-settings.ts'

/** An agent from an environment's settings; the passphrase opens an encrypted wallet, where there is one. */
export async function createDesks(settings: AgentSettings, passphrase: string | null): Promise<AgentDesks> {
  const { env, apiKey, vendor, outputFolder } = settings
  const [baseUrl, stateFolder] = [baseUrlOf(env), stateFolderOf(env)]
  const policy = policyOf(env, { payees: payeesNamed(settings.payee) })
  const found = await inOurWords(findWallet(settings, passphrase))
  const core = await openCore(
    { baseUrl, apiKey, nodes: nodesOf(env), vendor, outputFolder, stateFolder, journalUrl: journalUrlOf(env), policy },
    found,
  )
  return new AgentDesks(core)
}

/** Keys of the environment win over an API key, and that one over the keys of the folder. */
async function findWallet({ env, apiKey }: AgentSettings, passphrase: string | null): Promise<FoundWallet> {
  const keys = await environmentKeys(env)
  if (keys.length > 0 || apiKey) return { keys }
  return folderKeys(stateFolderOf(env), baseUrlOf(env), passphrase)
}

/** A wrong passphrase is told by the first tool that needs the wallet. */
const inOurWords = <Value>(work: Promise<Value>): Promise<Value> =>
  work.catch(error => {
    throw error instanceof WalletRefusal ? ofWallet(error) : error
  })
