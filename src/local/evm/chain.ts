import { type Address, getAddress, isAddress } from 'viem'
import type { MicroUsd } from '#contract/money.ts'
import { chainFolderOf, LocalChainError, lockChainFolder, makeChainFolder, whichFolder } from '../chain/folder.ts'
import { type ChainOrigin, type ChainProcess, findChain, loopbackUrl, startChain } from '../chain/process.ts'
import { TOKEN_NAME_CHARACTERS } from '../limits.ts'
import { usdcCode } from '../token/usdc.generated.ts'
import { anvil, LOCAL_CHAIN_ID } from './anvil.ts'
import {
  type ChainClient,
  connectChain,
  fundEth,
  installToken,
  mintTokens,
  mintUsdc,
  putCode,
  readBalance,
  readTokens,
  TOKEN_ADDRESS,
  TOKEN_VERSION,
} from './token.ts'

/** Not USDC's name on Base, so that nothing signed for the local chain is valid there. */
const DEFAULT_TOKEN_NAME = 'USD Coin (local)'

export interface LocalEvmChainOptions {
  dataDir: string
  /** The token's EIP-712 name; use `USD Coin` only for clients that have it built in. */
  tokenName?: string
  /** The port of a new chain; 0, the default, picks a free one. A running chain keeps its own. */
  port?: number
}

export interface LocalEvmChain {
  rpcUrl: string
  chainId: typeof LOCAL_CHAIN_ID
  tokenAddress: typeof TOKEN_ADDRESS
  tokenName: string
  tokenVersion: typeof TOKEN_VERSION
  /** The contract whose `balanceOf` returns what an address has staked. */
  stakes: { contract: typeof STAKES_ADDRESS; decimals: typeof STAKE_DECIMALS }
  origin: ChainOrigin
  /** Sends ETH for gas. */
  fundEth(address: Address): Promise<void>
  mintUsdc(address: Address, amountMicroUsd: bigint): Promise<void>
  balanceOf(address: Address): Promise<MicroUsd>
  /**
   * Stops the chain with its state saved. A process that ends without calling it leaves the chain running for the next.
   */
  stop(): Promise<void>
}

/**
 * Returns the local chain of a data folder, with its token installed: found running, resumed or new. Only one process
 * owns it. Throws `LocalChainError`.
 */
export async function startLocalEvmChain(options: LocalEvmChainOptions): Promise<LocalEvmChain> {
  const { dataDir, tokenName = DEFAULT_TOKEN_NAME, port = 0 } = options
  checkTokenName(tokenName)
  const folder = chainFolderOf(dataDir)
  await makeChainFolder(folder)
  const lock = lockChainFolder(folder)
  try {
    const chain = await startChain(anvil, folder, port)
    const client = connectChain(chain.rpcUrl)
    await prepare(client, chain, tokenName)
    return face(client, chain, tokenName, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function prepare(client: ChainClient, chain: ChainProcess, tokenName: string): Promise<void> {
  try {
    await installToken(client, tokenName)
    await installStakes(client)
    // Calls see the time of the latest block, which is 1970 on a new chain and the last stop on a resumed one.
    await client.mine({ blocks: 1 })
  } catch (error) {
    if (chain.origin !== 'running') await chain.stop()
    throw error
  }
}

function face(client: ChainClient, chain: ChainProcess, tokenName: string, lock: { release(): void }): LocalEvmChain {
  let stopped: Promise<void> | undefined
  return {
    rpcUrl: chain.rpcUrl,
    chainId: LOCAL_CHAIN_ID,
    tokenAddress: TOKEN_ADDRESS,
    tokenName,
    tokenVersion: TOKEN_VERSION,
    stakes: { contract: STAKES_ADDRESS, decimals: STAKE_DECIMALS },
    origin: chain.origin,
    fundEth: address => fundEth(client, address),
    async mintUsdc(address, amountMicroUsd) {
      await mintUsdc(client, address, amountMicroUsd)
    },
    balanceOf: address => readBalance(client, address),
    stop() {
      stopped ??= chain.stop().finally(() => lock.release())
      return stopped
    },
  }
}

function checkTokenName(tokenName: string): void {
  if (tokenName.trim() !== '' && tokenName.length <= TOKEN_NAME_CHARACTERS) return
  throw new LocalChainError(
    `The token's name has ${tokenName.length} characters; give --token-name between 1 and ${TOKEN_NAME_CHARACTERS}.`,
  )
}

/**
 * The address of stakes on the local chain. It has the local token's code, because a reader of stakes only calls
 * `balanceOf`.
 */
const STAKES_ADDRESS = '0x0000000000000000000000000000fa2eb0c57a4e'
const STAKE_DECIMALS = 6

/** Installs the contract; changes nothing if it is already there. */
const installStakes = (client: ChainClient): Promise<void> => putCode(client, STAKES_ADDRESS, usdcCode)

export interface StakeRequest {
  /** The folder passed to `farebox up`. */
  dataDir: string
  address: string
  /** Millionths of a token. */
  amount: bigint
}

export interface Staked {
  address: Address
  transaction: string
  /** The address's total stake, in millionths of a token. */
  stake: bigint
}

/** Stakes test tokens for an address on a data folder's running local chain. Throws `LocalChainError`. */
export async function stakeLocally({ dataDir, address, amount }: StakeRequest): Promise<Staked> {
  if (!isAddress(address)) {
    throw new LocalChainError('That is not an EVM address. Give 0x and 40 hexadecimal digits; copy the whole address.')
  }
  const staker = getAddress(address)
  const folder = chainFolderOf(dataDir)
  const chain = await findChain(anvil, folder)
  if (!chain) {
    throw new LocalChainError(`No local chain is running in ${folder.path}; ${whichFolder}`)
  }
  const client = connectChain(loopbackUrl(chain.port))
  await installStakes(client)
  const transaction = await mintTokens(client, STAKES_ADDRESS, { to: staker, amount })
  return { address: staker, transaction, stake: await readTokens(client, STAKES_ADDRESS, staker) }
}
