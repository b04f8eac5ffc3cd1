import type { TransferSource } from '#service/ledger/audit-transfers.ts'
import type { Books } from './books.ts'
import { CliError } from './cli-error.ts'

/** Node addresses come by the environment alone, because theirs often have a key in them. */
const rails = {
  eip155: { variable: 'FAREBOX_EVM_RPC_URL', local: localEvm },
  solana: { variable: 'FAREBOX_SOLANA_RPC_URL', local: localSolana },
} as const

/** Whom to ask about a network: the node that the environment names, else the local chain that runs for this folder. */
export async function transferSource(network: string, { env, folder }: Books): Promise<TransferSource> {
  const rail = network.startsWith('eip155:') ? 'eip155' : network.startsWith('solana:') ? 'solana' : null
  if (!rail) throw new CliError(`The network ${network} is not known.`, 'Use the release that took its payments.')
  const { variable, local } = rails[rail]
  const url = env[variable] || (await local(folder.root))
  if (!url) {
    throw new CliError(
      `No node is known for ${network}.`,
      `Set ${variable} to one, or start the local chain with \`farebox up\`.`,
    )
  }
  if (!URL.canParse(url)) throw new CliError(`${variable} is no address.`, 'Write it as https://HOST/PATH.')
  if (rail === 'eip155') return (await import('#service/ledger/audit-transfers-evm.ts')).evmTransfers(url)
  return (await import('#service/ledger/audit-transfers-svm.ts')).svmTransfers(url)
}

async function localEvm(dataDir: string): Promise<string | null> {
  const [{ findChain }, { chainFolderOf }, { loopbackUrl }, { anvil }] = await Promise.all([
    import('#local/chain-process.ts'),
    import('#local/chain-folder.ts'),
    import('#local/chain-program.ts'),
    import('#local/anvil.ts'),
  ])
  const chain = await findChain(anvil, chainFolderOf(dataDir))
  return chain && loopbackUrl(chain.port)
}

async function localSolana(dataDir: string): Promise<string | null> {
  const [{ findChain }, { solanaFolderOf }, { loopbackUrl }, { solana }] = await Promise.all([
    import('#local/chain-process.ts'),
    import('#local/chain-folder.ts'),
    import('#local/chain-program.ts'),
    import('#local/solana-program.ts'),
  ])
  const chain = await findChain(solana, solanaFolderOf(dataDir))
  return chain && loopbackUrl(chain.port)
}
