import { openAgent } from '#agent/open-agent.ts'
import {
  type AgentEnvironment,
  baseUrlOf,
  dataFolderOf,
  journalUrlOf,
  nodesOf,
  policyOf,
} from '#agent/settings/wallet-settings.ts'
import { seeCredit } from '#agent/wallet/limits-view.ts'
import { Balances } from '#agent/wallet/tool-wallet.ts'
import { environmentKeys, folderKeys } from '#agent/wallet/wallet-keys.ts'
import type { Holdings } from '#agent/wallet-page/wallet-view.ts'

/** Checks repeatedly, for a page; each check is limited in time and never throws. */
export interface HoldingsWatch {
  look(addresses: readonly string[]): Promise<Holdings>
  close(): Promise<void>
}

/**
 * Asks the service and the chains, like `wallet_status`. Limited in time, and never throws: a status works while the
 * service is down. Reading the credit needs the key, so a locked wallet's credit is unknown.
 */
export async function lookAtHoldings(
  env: AgentEnvironment,
  addresses: readonly string[],
  passphrase: string | null,
): Promise<Holdings> {
  const watch = watchHoldings(env, passphrase)
  try {
    return await watch.look(addresses)
  } finally {
    await watch.close()
  }
}

/** The first check opens the keys once. */
export function watchHoldings(env: AgentEnvironment, passphrase: string | null): HoldingsWatch {
  let opened: ReturnType<typeof openWith> | null = null
  return {
    async look(addresses) {
      try {
        opened ??= openWith(env, passphrase)
        const { balances, agent, locked } = await opened
        const [onChain, offer, { creditMicroUsd, seen }] = await Promise.all([
          balances.look(addresses),
          agent.topUps.offer().catch(() => null),
          agent.wallet ? seeCredit(agent) : { creditMicroUsd: null, seen: { atMs: null, unknown: locked } },
        ])
        return { creditMicroUsd, creditSeen: seen, onChain, accepts: offer?.accepts ?? [] }
      } catch (error) {
        const unknown = error instanceof Error ? error.message : String(error)
        return { creditMicroUsd: null, creditSeen: { atMs: null, unknown }, onChain: [] }
      }
    },
    async close() {
      const open = await opened?.catch(() => null)
      await open?.agent.client.close()
      await open?.agent.records.close()
      open?.agent.state.close()
    },
  }
}

/** With the wallet's keys only, because an API key would read the credit of its own account. */
async function openWith(env: AgentEnvironment, passphrase: string | null) {
  const [baseUrl, dataFolder] = [baseUrlOf(env), dataFolderOf(env)]
  let locked = 'the wallet is locked; add `--passphrase-file FILE` to see it'
  const inFolder = () =>
    folderKeys(dataFolder, baseUrl, passphrase).catch((error: Error) => {
      locked = error.message
      return { keys: [] }
    })
  const given = await environmentKeys(env)
  const found = given.length > 0 ? { keys: given } : await inFolder()
  const settings = { baseUrl, dataFolder, nodes: nodesOf(env), journalUrl: journalUrlOf(env), policy: policyOf(env) }
  const agent = await openAgent({ ...settings, vendor: env.FAREBOX_VENDOR?.trim() || undefined }, found)
  return { agent, locked, balances: new Balances(agent) }
}
