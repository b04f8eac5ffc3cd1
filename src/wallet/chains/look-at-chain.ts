import { lookTimeoutMs } from '../limits.ts'
import type { Rail } from '../terms/payee.ts'
import type { ChainNodes } from './chain-nodes.ts'
import { evmTimeMs, isOfChain } from './evm-end.ts'
import { isOfSolana, solanaTimeMs } from './solana-end.ts'
import { tokenBalance } from './token-balance.ts'

/** What a node says before a payment; null where it says nothing in time, or is one of another chain. */
export interface SeenOfChain {
  /** In the token's base units. */
  balance: bigint | null
  /** Unix milliseconds, as they go on since the answer came. */
  nowMs: (() => number) | null
}

export type WhyUnseen = 'no node' | 'no answer' | 'another chain'

const nothing: SeenOfChain = { balance: null, nowMs: null }

/** What an address holds of a rail's token, and what time its chain has. Bounded, and never throws. */
export async function lookAtChain(
  nodes: ChainNodes,
  rail: Rail,
  owner: string,
): Promise<SeenOfChain & { why: WhyUnseen | null }> {
  const isSolana = rail.network.startsWith('solana:')
  const url = isSolana ? nodes.solana : nodes.eip155
  if (url === undefined) return { ...nothing, why: 'no node' }
  const [isOf, timeMs] = isSolana ? [isOfSolana, solanaTimeMs] : [isOfChain, evmTimeMs]
  const [isOfNetwork, balance, atMs] = await Promise.all([
    isOf(url, rail.network, lookTimeoutMs).catch(() => null),
    tokenBalance(nodes, rail, owner),
    timeMs(url, lookTimeoutMs).catch(() => null),
  ])
  if (isOfNetwork === false) return { ...nothing, why: 'another chain' }
  if (isOfNetwork === null) return { ...nothing, why: 'no answer' }
  return { balance, nowMs: atMs === null ? null : goingOn(atMs), why: balance === null ? 'no answer' : null }
}

/** A time that was told, as it goes on by a clock that nobody sets. */
export function goingOn(toldMs: number): () => number {
  const heardAtMs = performance.now()
  return () => toldMs + performance.now() - heardAtMs
}
