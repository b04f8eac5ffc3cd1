import type { WalletView } from '#toolkit/tool-context.ts'
import { openCore } from '../open-agent.ts'
import {
  type AgentEnvironment,
  baseUrlOf,
  journalUrlOf,
  nodesOf,
  policyOf,
  stateFolderOf,
} from '../settings/wallet-settings.ts'
import { Balances } from './balances.ts'
import { seeCredit } from './limits-view.ts'
import { environmentKeys, folderKeys } from './wallet-keys.ts'

/** What a wallet has: its credit at the service and its balance on each chain, each with its time or why it is unknown. */
export type Holdings = Pick<WalletView, 'creditMicroUsd' | 'creditSeen' | 'onChain'>

/**
 * Asks the service and the chains, as `wallet_status` does. Bounded, and never throws: a status is shown while the service
 * is away. Asking for the credit needs the key, so that of a locked wallet is unknown.
 */
export async function lookAtHoldings(
  env: AgentEnvironment,
  addresses: readonly string[],
  passphrase: string | null,
): Promise<Holdings> {
  try {
    const { core, locked } = await coreOf(env, passphrase)
    try {
      const [onChain, { creditMicroUsd, seen }] = await Promise.all([
        new Balances(core).look(addresses),
        core.wallet ? seeCredit(core) : { creditMicroUsd: null, seen: { atMs: null, unknown: locked } },
      ])
      return { creditMicroUsd, creditSeen: seen, onChain }
    } finally {
      await core.client.close()
      await core.records.close()
      core.state.close()
    }
  } catch (error) {
    const unknown = error instanceof Error ? error.message : String(error)
    return { creditMicroUsd: null, creditSeen: { atMs: null, unknown }, onChain: [] }
  }
}

/** With the keys of the wallet alone: an API key would be asked for the credit of its own account. */
async function coreOf(env: AgentEnvironment, passphrase: string | null) {
  const [baseUrl, stateFolder] = [baseUrlOf(env), stateFolderOf(env)]
  let locked = 'the wallet is locked; add `--passphrase-file FILE` to see it'
  const inFolder = () =>
    folderKeys(stateFolder, baseUrl, passphrase).catch((error: Error) => {
      locked = error.message
      return { keys: [] }
    })
  const given = await environmentKeys(env)
  const found = given.length > 0 ? { keys: given } : await inFolder()
  const settings = { baseUrl, stateFolder, nodes: nodesOf(env), journalUrl: journalUrlOf(env), policy: policyOf(env) }
  return { core: await openCore({ ...settings, vendor: env.FAREBOX_VENDOR?.trim() || undefined }, found), locked }
}
