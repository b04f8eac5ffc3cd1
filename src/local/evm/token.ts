import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Address,
  createTestClient,
  defineChain,
  http,
  parseEther,
  parseGwei,
  publicActions,
  walletActions,
} from 'viem'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { LocalChainError } from '../chain/folder.ts'
import { CHAIN_POLL_MS, CHAIN_RPC_TIMEOUT_MS, FUNDED_ETH, MINT_ATTEMPTS, MINT_MICRO_USD } from '../limits.ts'
import { multicall3Code } from '../token/multicall3.generated.ts'
import { usdcAbi, usdcCode } from '../token/usdc.generated.ts'
import { LOCAL_CHAIN_ID } from './anvil.ts'

/** USDC's address on Base, so that clients with that address built in work on the local chain. */
export const TOKEN_ADDRESS = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
/** The contract through which payment software makes several calls at once. */
const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** Fixed in the token's source. It has no key: anvil is told to impersonate it. */
export const MINTER_ADDRESS = '0x0000000000000000000000000000FA2eB0C50001'
export const TOKEN_VERSION = '2'

export type ChainClient = ReturnType<typeof connectChain>

export function connectChain(rpcUrl: string) {
  const chain = defineChain({
    id: LOCAL_CHAIN_ID,
    name: 'farebox local chain',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
  return createTestClient({
    mode: 'anvil',
    chain,
    transport: http(rpcUrl, { timeout: CHAIN_RPC_TIMEOUT_MS, retryCount: 0 }),
    pollingInterval: CHAIN_POLL_MS,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)
}

/** Installs both contracts and sets the token's name; changes nothing if that is already done. */
export async function installToken(client: ChainClient, tokenName: string): Promise<void> {
  await putCode(client, TOKEN_ADDRESS, usdcCode)
  await putCode(client, MULTICALL3_ADDRESS, multicall3Code)
  if ((await readTokenName(client)) !== tokenName) {
    await asMinter(client, () =>
      client.writeContract({
        address: TOKEN_ADDRESS,
        abi: usdcAbi,
        functionName: 'rename',
        args: [tokenName],
        account: MINTER_ADDRESS,
        ...MINTER_FEES,
      }),
    )
  }
}

/** Mints test dollars for an address. Resolves to the transaction once it is in a block. */
export async function mintUsdc(client: ChainClient, to: Address, amountMicroUsd: bigint): Promise<`0x${string}`> {
  return mintTokens(client, TOKEN_ADDRESS, { to, amount: amountMicroUsd })
}

/** Mints tokens of any contract with the local token's code; `amount` is in millionths. */
export async function mintTokens(
  client: ChainClient,
  contract: Address,
  { to, amount }: { to: Address; amount: bigint },
): Promise<`0x${string}`> {
  if (amount <= 0n || amount > MINT_MICRO_USD) {
    throw new LocalChainError(
      `The local chain mints between 0.000001 and ${MINT_MICRO_USD / 1_000_000n} USD at a time; choose an amount in that range.`,
    )
  }
  return asMinter(client, () =>
    client.writeContract({
      address: contract,
      abi: usdcAbi,
      functionName: 'mint',
      args: [to, amount],
      account: MINTER_ADDRESS,
      ...MINTER_FEES,
    }),
  )
}

const readTokenName = (client: ChainClient): Promise<string> =>
  client.readContract({ address: TOKEN_ADDRESS, abi: usdcAbi, functionName: 'name' })

export const readBalance = async (client: ChainClient, address: Address): Promise<MicroUsd> =>
  microUsd(await readTokens(client, TOKEN_ADDRESS, address))

/** Reads an address's balance at a contract with the local token's code, in millionths. */
export const readTokens = (client: ChainClient, contract: Address, address: Address): Promise<bigint> =>
  client.readContract({ address: contract, abi: usdcAbi, functionName: 'balanceOf', args: [address] })

/** Tops up ETH for gas to a fixed amount. */
export async function fundEth(client: ChainClient, address: Address): Promise<void> {
  const wanted = parseEther(String(FUNDED_ETH))
  if ((await client.getBalance({ address })) < wanted) await client.setBalance({ address, value: wanted })
}

/** Equal for all transactions, because one with a higher fee would replace a pending one with the same number. */
const MINTER_FEES = { maxFeePerGas: parseGwei('1000'), maxPriorityFeePerGas: parseGwei('1') }

/** Changes nothing if the contract already has this code. */
export async function putCode(client: ChainClient, address: Address, bytecode: `0x${string}`): Promise<void> {
  if ((await client.getCode({ address })) !== bytecode) await client.setCode({ address, bytecode })
}

async function asMinter(client: ChainClient, send: () => Promise<`0x${string}`>): Promise<`0x${string}`> {
  await fundEth(client, MINTER_ADDRESS)
  await client.impersonateAccount({ address: MINTER_ADDRESS })
  const hash = await sendOnce(send)
  const { status } = await client.waitForTransactionReceipt({ hash })
  if (status !== 'success') throw new LocalChainError(`The local chain reverted ${hash}; ask for a smaller amount.`)
  return hash
}

const REFUSED_NUMBER = /nonce too low|replacement transaction underpriced|transaction already imported/i

/** Anvil numbers the minter's transactions; of two concurrent ones it may refuse one, which was then not sent. */
async function sendOnce(send: () => Promise<`0x${string}`>): Promise<`0x${string}`> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      const isTaken = error instanceof Error && REFUSED_NUMBER.test(error.message)
      if (!isTaken || attempt === MINT_ATTEMPTS) throw error
      await sleep(CHAIN_POLL_MS * attempt * (1 + Math.random()))
    }
  }
}
