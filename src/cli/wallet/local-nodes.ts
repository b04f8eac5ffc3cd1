import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { microUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import type { PayeeCounts } from '#ledger/audit/audit-chain.ts'
import type { TransferSource } from '#ledger/audit/audit-transfers.ts'
import { CliError, type CommandIo } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import type { LedgerPlace } from '../data/ledger-place.ts'
import { withDataFlag } from './owner-wallet.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Adds the nodes of `farebox up`'s local chains to an environment, if the wallet's folder is inside the folder of one
 * and its service is on this machine too. Existing settings stay.
 */
export async function withLocalNodes(env: Environment, baseUrl: string, stateFolder: string): Promise<Environment> {
  const root = folderOfUp(baseUrl, stateFolder)
  if (root === null) return env
  const [evm, solana] = await Promise.all([
    env.FAREBOX_EVM_RPC_URL || localEvm(root),
    env.FAREBOX_SOLANA_RPC_URL || localSolana(root),
  ])
  return { ...env, FAREBOX_EVM_RPC_URL: evm ?? undefined, FAREBOX_SOLANA_RPC_URL: solana ?? undefined }
}

/** Returns a command's environment with these nodes, for the wallet that `--data` names. */
export async function besideChain(io: CommandIo, data: string | undefined): Promise<CommandIo> {
  const { baseUrlOf, stateFolderOf } = await import('#agent/settings/wallet-settings.ts')
  const env = withDataFlag(io.env, data)
  const beside = await withLocalNodes(env, baseUrlOf(env), stateFolderOf(env))
  return { ...io, env: { ...io.env, ...beside } }
}

/** Wallet folders next to the chains of `farebox up`: of its own agent, and of a client set up by `install --local`. */
const walletsOfUp: readonly string[] = ['agent', 'assistant']

/**
 * Returns the folder of `farebox up` that contains the wallet's folder; null if none does, or its service is elsewhere.
 */
export function folderOfUp(baseUrl: string, stateFolder: string): string | null {
  const root = dirname(stateFolder)
  const isOfUp = walletsOfUp.includes(basename(stateFolder)) && existsSync(join(root, 'chain'))
  return isOfUp && isLoopback(new URL(baseUrl).hostname) ? root : null
}

/** Returns what a new wallet gets on the local chain of `farebox up`; null for any other wallet. */
export function testMoneyFor(baseUrl: string, stateFolder: string): ((address: string) => Promise<void>) | null {
  const root = folderOfUp(baseUrl, stateFolder)
  if (root === null) return null
  return async address => {
    const { fundFromFaucet } = await import('#local/faucet.ts')
    await fundFromFaucet({ dataDir: root, address, amountMicroUsd: testMoneyMicroUsd })
  }
}

/** Twice the smallest top-up. */
export const testMoneyMicroUsd = microUsd(10_000_000n)

/** Node addresses come only from the environment, because they often contain a key. */
const rails = {
  eip155: { variable: 'FAREBOX_EVM_RPC_URL', local: localEvm },
  solana: { variable: 'FAREBOX_SOLANA_RPC_URL', local: localSolana },
} as const

/**
 * Returns where to read a network: the node that the environment names, else the local chain that runs for this folder.
 */
export async function transferSource(network: string, { env, folder }: LedgerPlace): Promise<TransferSource> {
  const rail = network.startsWith('eip155:') ? 'eip155' : network.startsWith('solana:') ? 'solana' : null
  if (!rail) throw new CliError(`The network ${network} is not known.`, 'Use the release that accepted its payments.')
  const { variable, local } = rails[rail]
  const url = env[variable] || (await local(folder.root))
  if (!url && !existsSync(chainFolderPath(folder))) {
    throw new CliError(
      `This ledger has payments on ${network}, but no node is set for it and this folder has no local chain.`,
      `Set ${variable} to a node. For the ledger of a trial, copy \`chain\` from its folder to this one; its transfers exist only there.`,
    )
  }
  if (!url) {
    throw new CliError(
      `No node is set for ${network}.`,
      `Set ${variable}, or start the local chain with \`farebox up\`.`,
    )
  }
  if (!URL.canParse(url)) throw new CliError(`${variable} is not a valid address.`, 'Write it as https://HOST/PATH.')
  const { evmTransfers, svmTransfers } = await import('#ledger/audit/audit-transfers.ts')
  return rail === 'eip155' ? evmTransfers(url) : svmTransfers(url)
}

const chainFolderPath = ({ root }: DataFolder): string => join(root, 'chain')

/**
 * Explains payees whose credits are all missing on a local chain that has nothing else for them either: then it is not
 * the chain on which they were paid, as after restoring without it. Null otherwise.
 */
export function otherChain(payees: readonly PayeeCounts[], { env, folder }: LedgerPlace): string | null {
  const isOther = ({ network, credits, transfers }: PayeeCounts) => {
    const rail = network.startsWith('solana:') ? rails.solana : rails.eip155
    return !env[rail.variable] && credits > 0 && transfers === 0
  }
  const networks = [...new Set(payees.filter(isOther).map(({ network }) => network))]
  if (networks.length === 0) return null
  return `The local chain of this folder has none of these payments (${networks.join(', ')}), so it is a new chain: copy \`chain\` from the folder that was backed up to ${chainFolderPath(folder)} while nothing runs. The transfers exist only there.`
}

/** Returns where a data folder's local chain listens; null if none runs. */
export async function localEvm(dataDir: string): Promise<string | null> {
  const [{ findChain, loopbackUrl }, { chainFolderOf }, { anvil }] = await Promise.all([
    import('#local/chain/process.ts'),
    import('#local/chain/folder.ts'),
    import('#local/evm/anvil.ts'),
  ])
  const chain = await findChain(anvil, chainFolderOf(dataDir))
  return chain && loopbackUrl(chain.port)
}

export async function localSolana(dataDir: string): Promise<string | null> {
  const [{ findChain, loopbackUrl }, { solanaFolderOf }, { solana }] = await Promise.all([
    import('#local/chain/process.ts'),
    import('#local/chain/folder.ts'),
    import('#local/solana/chain.ts'),
  ])
  const chain = await findChain(solana, solanaFolderOf(dataDir))
  return chain && loopbackUrl(chain.port)
}
