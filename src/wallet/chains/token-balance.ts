import { z } from 'zod'
import { lookTimeoutMs } from '../limits.ts'
import type { Rail } from '../terms/payee.ts'
import { askNode } from './ask-node.ts'
import type { ChainNodes } from './chain-nodes.ts'
import { tokenAccountOf } from './solana-transfer.ts'

/** `balanceOf(address)`. */
const balanceOf = '0x70a08231'

/** Where a token account of Solana has its amount, eight bytes, little-endian. */
const amountOffset = 64

const Word = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
const Account = z.object({
  value: z.object({ data: z.tuple([z.string(), z.literal('base64')]) }).nullable(),
})

/** What an address holds of a rail's token, in its base units; null where no node is named or it gives no answer. */
export async function tokenBalance(nodes: ChainNodes, { network, asset }: Rail, owner: string): Promise<bigint | null> {
  try {
    if (network.startsWith('solana:')) return nodes.solana ? await onSolana(nodes.solana, asset, owner) : null
    return nodes.eip155 ? await onEvm(nodes.eip155, asset, owner) : null
  } catch {
    // Not known is none of the answers that refuse a payment.
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
