import { openAgent } from '#agent/open-agent.ts'
import {
  type AgentEnvironment,
  baseUrlOf,
  journalUrlOf,
  nodesOf,
  policyOf,
  stateFolderOf,
} from '#agent/settings/wallet-settings.ts'
import { seeCredit } from '#agent/wallet/limits-view.ts'
import { Balances } from '#agent/wallet/tool-wallet.ts'
import { environmentKeys, folderKeys } from '#agent/wallet/wallet-keys.ts'
import type { WalletView } from '#toolkit/tool-context.ts'

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
    const { agent, locked } = await openWith(env, passphrase)
    try {
      const [onChain, { creditMicroUsd, seen }] = await Promise.all([
        new Balances(agent).look(addresses),
        agent.wallet ? seeCredit(agent) : { creditMicroUsd: null, seen: { atMs: null, unknown: locked } },
      ])
      return { creditMicroUsd, creditSeen: seen, onChain }
    } finally {
      await agent.client.close()
      await agent.records.close()
      agent.state.close()
    }
  } catch (error) {
    const unknown = error instanceof Error ? error.message : String(error)
    return { creditMicroUsd: null, creditSeen: { atMs: null, unknown }, onChain: [] }
  }
}

/** With the keys of the wallet alone: an API key would be asked for the credit of its own account. */
async function openWith(env: AgentEnvironment, passphrase: string | null) {
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
  return { agent: await openAgent({ ...settings, vendor: env.FAREBOX_VENDOR?.trim() || undefined }, found), locked }
}
