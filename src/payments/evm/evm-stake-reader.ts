import type { PublicClient } from 'viem'
import { type StakeReader, stakeAnswerMs, stakeDecimals } from '#ledger/accounts/stake-reader.ts'

/** Where stakes are read: any contract whose `balanceOf(address)` returns how many tokens an address has staked. */
export interface EvmStakeOptions {
  rpcUrl: string
  contract: string
  /** Decimals of the staked token; 18 by default. */
  decimals?: number
}

const balanceOf = [
  {
    type: 'function',
    name: 'balanceOf',
    stateMutability: 'view',
    inputs: [{ name: 'account', type: 'address' }],
    outputs: [{ name: '', type: 'uint256' }],
  },
] as const

type Address = `0x${string}`

const isAddress = (text: string): text is Address => /^0x[0-9a-fA-F]{40}$/.test(text)

const microDecimals = 6

/** Sends nothing to the network until first used. Throws a sentence for invalid settings. */
export async function openEvmStakeReader(options: EvmStakeOptions): Promise<StakeReader> {
  const { rpcUrl, contract, decimals = 18 } = options
  if (!isAddress(contract)) throw new Error('The staking contract must be an address: 0x and 40 hexadecimal digits.')
  if (!Number.isSafeInteger(decimals) || decimals < 0 || decimals > stakeDecimals) {
    throw new Error(`The decimals of the staking token must be a whole number from 0 to ${stakeDecimals}.`)
  }
  const { createPublicClient, http } = await import('viem')
  // No retry: the next call asks again, and this one must not wait for it.
  const transport = http(rpcUrl, { timeout: stakeAnswerMs, retryCount: 0 })
  return new EvmStakeReader(createPublicClient({ transport }), contract, decimals)
}

class EvmStakeReader implements StakeReader {
  readonly #client: PublicClient
  readonly #contract: Address
  readonly #decimals: number

  constructor(client: PublicClient, contract: Address, decimals: number) {
    this.#client = client
    this.#contract = contract
    this.#decimals = decimals
  }

  /** Wallets on other chains have no stake here. */
  async stakeOf(wallets: readonly string[]): Promise<bigint> {
    const stakes = await Promise.all(wallets.filter(isAddress).map(wallet => this.#balanceOf(wallet)))
    const sum = stakes.reduce((all, each) => all + each, 0n)
    const shift = BigInt(Math.abs(this.#decimals - microDecimals))
    return this.#decimals >= microDecimals ? sum / 10n ** shift : sum * 10n ** shift
  }

  #balanceOf(wallet: Address): Promise<bigint> {
    const action = { address: this.#contract, abi: balanceOf, functionName: 'balanceOf', args: [wallet] } as const
    return this.#client.readContract(action)
  }
}
