import { type Address, getAddress, isAddress } from 'viem'
import { anvil } from './anvil.ts'
import { chainFolderOf } from './chain-folder.ts'
import { findChain } from './chain-process.ts'
import { loopbackUrl } from './chain-program.ts'
import { LocalChainError } from './local-chain-error.ts'
import { type ChainClient, connectChain, mintTokens, putCode, readTokens } from './local-token.ts'
import { usdcCode } from './token/usdc.generated.ts'

/**
 * Where stakes stand on the local chain. Its code is that of the local token, whose `balanceOf` is all that a reader of
 * stakes asks a contract for.
 */
export const STAKES_ADDRESS = '0x0000000000000000000000000000fa2eb0c57a4e'
export const STAKE_DECIMALS = 6

/** Puts the contract in place; changes nothing where that is done already. */
export const installStakes = (client: ChainClient): Promise<void> => putCode(client, STAKES_ADDRESS, usdcCode)

export interface StakeRequest {
  /** The folder that `farebox up` was given. */
  dataDir: string
  address: string
  /** Millionths of a token. */
  amount: bigint
}

export interface Staked {
  address: Address
  transaction: string
  /** All that the address has staked, in millionths of a token. */
  stake: bigint
}

/** Stakes test tokens for an address on the running local chain of a data folder. Throws `LocalChainError`. */
export async function stakeLocally({ dataDir, address, amount }: StakeRequest): Promise<Staked> {
  if (!isAddress(address)) {
    throw new LocalChainError('That is not an EVM address; give 0x and 40 hexadecimal digits, copied whole.')
  }
  const staker = getAddress(address)
  const folder = chainFolderOf(dataDir)
  const chain = await findChain(anvil, folder)
  if (!chain) {
    throw new LocalChainError(
      `No local chain runs in ${folder.path}; name the folder of the running farebox up by --data.`,
    )
  }
  const client = connectChain(loopbackUrl(chain.port))
  await installStakes(client)
  const transaction = await mintTokens(client, STAKES_ADDRESS, { to: staker, amount })
  return { address: staker, transaction, stake: await readTokens(client, STAKES_ADDRESS, staker) }
}
