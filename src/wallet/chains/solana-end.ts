import { z } from 'zod'
import * as limits from '../limits.ts'
import type { Payment } from '../records/journal.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { askNode } from './ask-node.ts'
import type { ChainNodes } from './chain-nodes.ts'

/** What the chain says of a payment: it can still be taken, it was, or neither, for good. */
export type ChainEnd = { kind: 'open' } | { kind: 'taken'; transaction: string | null } | { kind: 'never' }

/** The chain of CAIP-2 `solana` is named by the first characters of its first block's hash. */
const Genesis = z.string()
const Epoch = z.object({ absoluteSlot: z.int().nonnegative(), blockHeight: z.int().nonnegative() })
const Listed = z.array(
  z.object({ signature: z.string(), err: z.unknown(), memo: z.string().nullable(), blockTime: z.int().nullable() }),
)

/**
 * A transaction ends with the height that its blockhash serves up to, however long the chain takes to get there: what is
 * in no block when a block above it can't be undone is in none for ever. Null where that height is not known, as for the
 * other rail. Throws a refusal where no node can be asked.
 */
export async function solanaEnd(nodes: ChainNodes, payment: Payment): Promise<ChainEnd | null> {
  const { network, memo, lastValidBlockHeight } = payment
  if (memo === null || lastValidBlockHeight === null) return null
  const url = nodes.solana ?? noNode()
  if (!(await isOfSolana(url, network))) throw otherChain()
  const { blockHeight, absoluteSlot } = await askNode(url, 'getEpochInfo', [finalized], Epoch)
  const taken = await findTaken(url, payment, memo, absoluteSlot)
  if (taken !== null) return { kind: 'taken', transaction: taken }
  return { kind: blockHeight > lastValidBlockHeight ? 'never' : 'open' }
}

/** Whether a node is one of the chain that a network names (CAIP-2). Throws a refusal where it gives no answer. */
export async function isOfSolana(url: string, network: string, timeoutMs?: number): Promise<boolean> {
  const genesis = await askNode(url, 'getGenesisHash', [], Genesis, timeoutMs)
  return network === `solana:${genesis.slice(0, limits.genesisCharacters)}`
}

/** Unix milliseconds of the last block that can't be undone. Throws a refusal where the node gives no answer. */
export async function solanaTimeMs(url: string, timeoutMs: number): Promise<number> {
  const { absoluteSlot } = await askNode(url, 'getEpochInfo', [finalized], Epoch, timeoutMs)
  return (await askNode(url, 'getBlockTime', [absoluteSlot], z.int().nonnegative(), timeoutMs)) * 1_000
}

const finalized = { commitment: 'finalized' } as const

/**
 * The payer's own transactions back to the payment, by the memo that no other one has: its name is the signature of whoever
 * paid the fee, which the wallet was never told. One that failed has moved nothing. Another node behind the same address
 * may be behind, so none may answer that has not come as far as `slot`.
 */
async function findTaken(url: string, { address, createdAtMs }: Payment, memo: string, slot: number) {
  const limit = limits.listedTransactions
  for (let [page, before] = [0, ''] as [number, string]; page < limits.transactionPages; page++) {
    const config = { ...finalized, minContextSlot: slot, limit, ...(before && { before }) }
    const listed = await askNode(url, 'getSignaturesForAddress', [address, config], Listed)
    const ours = listed.find(each => (each.err ?? null) === null && each.memo?.includes(memo))
    if (ours) return ours.signature
    const last = listed.at(-1)
    const isBefore = (last?.blockTime ?? Infinity) * 1_000 < createdAtMs - limits.chainClockMs
    if (last === undefined || listed.length < limit || isBefore) return null
    before = last.signature
  }
  throw refusal('The address has too many transactions to look for this one.', 'Look for it with an explorer.')
}

const noNode = (): never => {
  throw refusal('Only the chain can tell whether a payment on Solana is over, and no node is named.', nameNode)
}

const otherChain = (): WalletRefusal => refusal('The node that is named is one of another chain.', nameNode)

const nameNode = 'Set FAREBOX_SOLANA_RPC_URL to a node of that chain, then try again.'

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'node', sentence, nextStep })
