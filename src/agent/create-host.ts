import { isLoopback } from '#contract/loopback.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { keyFileAddress, unlockKeyFile } from '#wallet/key-file.ts'
import { localKey, localKeyAddress } from '#wallet/local-key-file.ts'
import { defaultRails } from '#wallet/policy.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import { AgentDesks } from './agent-desks.ts'
import { ofWallet } from './explain.ts'
import { type FoundWallet, openCore } from './open-core.ts'
import type { AgentSettings } from './settings.ts'
import { toolHost } from './tool-host.ts'
import { baseUrlOf, policyOf, stateFolderOf } from './wallet-settings.ts'

/** The host of a frame, from an environment's settings; the passphrase opens an encrypted wallet, where there is one. */
export async function createHost(settings: AgentSettings, passphrase: string | null): Promise<ToolHost> {
  const { env, payee, apiKey, walletKey, vendor, outputFolder } = settings
  const payees = payee === undefined ? [] : defaultRails.map(rail => ({ ...rail, payTo: payee }))
  const [baseUrl, stateFolder] = [baseUrlOf(env), stateFolderOf(env)]
  const policy = policyOf(env, { payees })
  const found = walletKey || apiKey ? {} : await inOurWords(findWallet(baseUrl, stateFolder, passphrase))
  const core = await openCore({ baseUrl, apiKey, walletKey, vendor, outputFolder, stateFolder, policy }, found)
  return toolHost(new AgentDesks(core))
}

/** A plain key serves only a service of this machine: it is one of a local chain. An encrypted one needs its owner. */
async function findWallet(baseUrl: string, stateFolder: string, passphrase: string | null): Promise<FoundWallet> {
  const isLocal = isLoopback(new URL(baseUrl).hostname)
  if (isLocal && localKeyAddress(stateFolder) !== null) return { key: await localKey(stateFolder, { isLocal }) }
  const address = keyFileAddress(stateFolder)
  if (address === null || passphrase === null) return { lockedWallet: address }
  return { key: (await unlockKeyFile(stateFolder, passphrase)) ?? undefined }
}

/** A wrong passphrase is told by the first tool that needs the wallet. */
const inOurWords = <Value>(work: Promise<Value>): Promise<Value> =>
  work.catch(error => {
    throw error instanceof WalletRefusal ? ofWallet(error) : error
  })
