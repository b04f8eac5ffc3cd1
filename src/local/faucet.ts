import { getAddress, isAddress } from 'viem'
import type { MicroUsd } from '#contract/money.ts'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { chainFolderOf, LocalChainError, solanaFolderOf, whichFolder } from './chain/folder.ts'
import { findChain, loopbackUrl } from './chain/process.ts'
import { anvil } from './evm/anvil.ts'
import { connectChain, mintUsdc, readBalance } from './evm/token.ts'
import { mintLocalUsdc, solana } from './solana/chain.ts'

export interface FaucetRequest {
  /** The folder passed to `farebox up`. */
  dataDir: string
  address: string
  amountMicroUsd: bigint
}

export interface Funded {
  address: string
  transaction: string
  balanceMicroUsd: MicroUsd
}

/**
 * Mints test dollars on a data folder's running local chains while another process owns them. Throws `LocalChainError`.
 */
export async function fundFromFaucet(request: FaucetRequest): Promise<Funded> {
  const { address } = request
  if (address.startsWith('0x')) return fundOnEvm(request)
  if (decodeBase58(address, SOLANA_ADDRESS_BYTES)) return fundOnSolana(request)
  throw new LocalChainError(
    'That is not an address. Give 0x and 40 hexadecimal digits, or a Solana address in base58; copy the whole address.',
  )
}

const SOLANA_ADDRESS_BYTES = 32

async function fundOnSolana({ dataDir, address, amountMicroUsd }: FaucetRequest): Promise<Funded> {
  const folder = solanaFolderOf(dataDir)
  const chain = await findChain(solana, folder)
  if (!chain) {
    throw new LocalChainError(
      `No local Solana chain is running in ${folder.path}; ${whichFolder} \`farebox up\` starts one only if litesvm is installed.`,
    )
  }
  return { address, ...(await mintLocalUsdc(loopbackUrl(chain.port), address, amountMicroUsd)) }
}

async function fundOnEvm({ dataDir, address, amountMicroUsd }: FaucetRequest): Promise<Funded> {
  if (!isAddress(address)) {
    throw new LocalChainError('That is not an EVM address. Give 0x and 40 hexadecimal digits; copy the whole address.')
  }
  const to = getAddress(address)
  const folder = chainFolderOf(dataDir)
  const chain = await findChain(anvil, folder)
  if (!chain) {
    throw new LocalChainError(`No local chain is running in ${folder.path}; ${whichFolder}`)
  }
  const client = connectChain(loopbackUrl(chain.port))
  const transaction = await mintUsdc(client, to, amountMicroUsd)
  return { address: to, transaction, balanceMicroUsd: await readBalance(client, to) }
}
