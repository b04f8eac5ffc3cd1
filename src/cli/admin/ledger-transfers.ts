import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PayeeCounts } from '#ledger/audit/audit-chain.ts'
import type { TransferSource } from '#ledger/audit/audit-transfers.ts'
import { CliError } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import type { LedgerPlace } from '../data/ledger-place.ts'
import { localEvm, localSolana } from '../data/local-chains.ts'

/** Node addresses come only from the environment, because they often contain a key. */
const rails = {
  eip155: { variable: 'FAREBOX_EVM_RPC_URL', local: localEvm },
  solana: { variable: 'FAREBOX_SOLANA_RPC_URL', local: localSolana },
} as const

/**
 * Returns the node to read a network from: the one that the environment names, or the local chain that runs for this
 * folder.
 */
export async function transferSource(network: string, { env, folder }: LedgerPlace): Promise<TransferSource> {
  const rail = network.startsWith('eip155:') ? 'eip155' : network.startsWith('solana:') ? 'solana' : null
  if (!rail) throw new CliError(`Unknown network ${network}.`, 'Use the farebox release that accepted its payments.')
  const { variable, local } = rails[rail]
  const url = env[variable] || (await local(folder.root))
  if (!url && !existsSync(chainFolderPath(folder))) {
    throw new CliError(
      `This ledger has payments on ${network}, but no node is set for it and this folder has no local chain.`,
      `Set ${variable} to a node. If the ledger is from \`farebox up\`, copy \`chain\` from its folder to this one: the transfers exist only there.`,
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
 * Explains payees whose credits are all missing on a local chain that has no other transfers for them either: then it
 * is not the chain on which they were paid, for example because the ledger was restored without it. Null otherwise.
 */
export function otherChain(payees: readonly PayeeCounts[], { env, folder }: LedgerPlace): string | null {
  const isOther = ({ network, credits, transfers }: PayeeCounts) => {
    const rail = network.startsWith('solana:') ? rails.solana : rails.eip155
    return !env[rail.variable] && credits > 0 && transfers === 0
  }
  const networks = [...new Set(payees.filter(isOther).map(({ network }) => network))]
  if (networks.length === 0) return null
  return `The local chain of this folder has none of these payments (${networks.join(', ')}), so it is a new chain. While nothing runs, copy \`chain\` from the backed-up folder to ${chainFolderPath(folder)}: the transfers exist only there.`
}
