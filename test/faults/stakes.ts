import { askChain } from '#local/chain/process.ts'

/** Where wallets stake on the local chain, in millionths of a token: one of them gives a micro-USD a day. */
export const stakes = { contract: '0x57a6000000000000000000000000000000000001', decimals: 6 } as const

/** `balanceOf(address)` for whatever is asked: the word that is stored under the address. */
const code = '0x6004355460005260206000f3'

/** Puts the contract there; what was staked stays. */
export async function placeStakes(rpcUrl: string): Promise<void> {
  await askChain(rpcUrl, 'anvil_setCode', [stakes.contract, code])
}

export async function stake(rpcUrl: string, wallet: string, dailyMicroUsd: bigint): Promise<void> {
  const [slot, amount] = [BigInt(wallet), dailyMicroUsd].map(word => `0x${word.toString(16).padStart(64, '0')}`)
  await askChain(rpcUrl, 'anvil_setStorageAt', [stakes.contract, slot, amount])
}
