import type { Address } from 'viem'
import type { MicroUsd } from '#contract/money.ts'
import { anvil, LOCAL_CHAIN_ID } from './anvil.ts'
import { chainFolderOf, lockChainFolder, makeChainFolder } from './chain-folder.ts'
import { type ChainOrigin, type ChainProcess, startChain } from './chain-process.ts'
import { TOKEN_NAME_CHARACTERS } from './limits.ts'
import { LocalChainError } from './local-chain-error.ts'
import { installStakes, STAKE_DECIMALS, STAKES_ADDRESS } from './local-stakes.ts'
import {
  type ChainClient,
  connectChain,
  fundEth,
  installToken,
  mintUsdc,
  readBalance,
  TOKEN_ADDRESS,
  TOKEN_VERSION,
} from './local-token.ts'

/** Not the name that USDC bears on Base, so that nothing signed for the local chain is valid there. */
export const DEFAULT_TOKEN_NAME = 'USD Coin (local)'

export interface LocalEvmChainOptions {
  dataDir: string
  /** The token's EIP-712 name; `USD Coin` only for clients that have it built in. */
  tokenName?: string
  /** Where a new chain listens; 0, the default, picks a free port. A chain that runs already keeps its own. */
  port?: number
}

export interface LocalEvmChain {
  rpcUrl: string
  chainId: typeof LOCAL_CHAIN_ID
  tokenAddress: typeof TOKEN_ADDRESS
  tokenName: string
  tokenVersion: typeof TOKEN_VERSION
  /** Whose `balanceOf` says what an address has staked. */
  stakes: { contract: typeof STAKES_ADDRESS; decimals: typeof STAKE_DECIMALS }
  origin: ChainOrigin
  /** Gas money. */
  fundEth(address: Address): Promise<void>
  mintUsdc(address: Address, amountMicroUsd: bigint): Promise<void>
  balanceOf(address: Address): Promise<MicroUsd>
  /** Ends the chain with its state saved. A process that ends without it leaves the chain running for the next. */
  stop(): Promise<void>
}

/**
 * The local chain of a data folder, with its token in place: found running, resumed or new. One process at a time owns
 * it. Throws `LocalChainError`.
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
    // Calls see the time of the latest block, which is 1970 on a new chain and the last stop's on a resumed one.
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
