import { z } from 'zod'
import { lookTimeoutMs } from '../limits.ts'
import type { Rail } from '../terms/order.ts'
import { evmTimeMs, isOfChain } from './evm.ts'
import { askNode, type ChainNodes } from './nodes.ts'
import { isOfSolana, solanaTimeMs, tokenAccountOf } from './solana.ts'

/** What a node reports before a payment; null if it does not answer in time, or belongs to another chain. */
export interface SeenOfChain {
  /** In the token's base units. */
  balance: bigint | null
  /** The chain's time in Unix milliseconds, counted on from the answer. */
  nowMs: (() => number) | null
}

export type WhyUnseen = 'no node' | 'no answer' | 'another chain'

const nothing: SeenOfChain = { balance: null, nowMs: null }

/** Returns how much of a rail's token an address holds, and the time on its chain. Limited in time; never throws. */
export async function balanceAndTime(
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

/** Counts on from a reported time with a monotonic clock. */
function goingOn(toldMs: number): () => number {
  const heardAtMs = performance.now()
  return () => toldMs + performance.now() - heardAtMs
}

/** `balanceOf(address)`. */
const balanceOf = '0x70a08231'

/** Offset of the amount in a Solana token account: eight bytes, little-endian. */
const amountOffset = 64

const Word = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
const Account = z.object({
  value: z.object({ data: z.tuple([z.string(), z.literal('base64')]) }).nullable(),
})

/**
 * Returns how much of a rail's token an address holds, in base units; null if no node is configured or it does not
 * answer.
 */
export async function tokenBalance(nodes: ChainNodes, { network, asset }: Rail, owner: string): Promise<bigint | null> {
  try {
    if (network.startsWith('solana:')) return nodes.solana ? await onSolana(nodes.solana, asset, owner) : null
    return nodes.eip155 ? await onEvm(nodes.eip155, asset, owner) : null
  } catch {
    // An unknown balance is no reason to refuse a payment.
    return null
  }
}

async function onEvm(url: string, asset: string, owner: string): Promise<bigint> {
  const data = `${balanceOf}${owner.slice(2).toLowerCase().padStart(64, '0')}`
  return BigInt(await askNode(url, 'eth_call', [{ to: asset, data }, 'latest'], Word, lookTimeoutMs))
}

async function onSolana(url: string, mint: string, owner: string): Promise<bigint> {
  const account = await tokenAccountOf(owner, mint)
  const { value } = await askNode(url, 'getAccountInfo', [account, { encoding: 'base64' }], Account, lookTimeoutMs)
  return value === null ? 0n : Buffer.from(value.data[0], 'base64').readBigUInt64LE(amountOffset)
}
