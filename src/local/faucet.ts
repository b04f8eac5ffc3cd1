import { type Address, getAddress, isAddress } from 'viem'
import type { MicroUsd } from '#contract/money.ts'
import { anvil } from './anvil.ts'
import { chainFolderOf } from './chain-folder.ts'
import { findChain } from './chain-process.ts'
import { loopbackUrl } from './chain-program.ts'
import { LocalChainError } from './local-chain-error.ts'
import { connectChain, mintUsdc, readBalance } from './local-token.ts'

export interface FaucetRequest {
  /** The folder that `farebox up` was given. */
  dataDir: string
  address: string
  amountMicroUsd: bigint
}

export interface Funded {
  address: Address
  transaction: `0x${string}`
  balanceMicroUsd: MicroUsd
}

/** Test dollars on the running local chain of a data folder, beside whoever owns it. Throws `LocalChainError`. */
export async function fundFromFaucet({ dataDir, address, amountMicroUsd }: FaucetRequest): Promise<Funded> {
  if (!isAddress(address)) {
    throw new LocalChainError('That is not an EVM address; give 0x and 40 hexadecimal digits, copied whole.')
  }
  const to = getAddress(address)
  const folder = chainFolderOf(dataDir)
  const chain = await findChain(anvil, folder)
  if (!chain) {
    throw new LocalChainError(`No local chain runs in ${folder.path}; start it with farebox up --data ${dataDir}.`)
  }
  const client = connectChain(loopbackUrl(chain.port))
  const transaction = await mintUsdc(client, to, amountMicroUsd)
  return { address: to, transaction, balanceMicroUsd: await readBalance(client, to) }
}
