import { z } from 'zod'
import {
  blockhashBlocks,
  expiryMarginBlocks,
  listedTransactions,
  mostSlotsOfBlock,
  rememberedSearches,
  rpcRetries,
  rpcTimeoutMs,
  searchedAtOnce,
  searchedPages,
  searchedTransactions,
  searchMs,
  searchSlotMargin,
} from '../bounds.ts'
import { readMessage, readTransaction, readTransfer } from './solana-message.ts'
import type { SvmPayment } from './svm-rail.ts'

/** A node answered, and refused. `data` is what it tells about a transaction. */
export class SolanaRefusal extends Error {
  override readonly name = 'SolanaRefusal'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

const Answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
})

/** Asks a Solana node. Every question may be repeated; what is sent is told once. */
export class SolanaRpc {
  readonly #url: string
  readonly #signal: AbortSignal | null

  constructor(url: string, signal: AbortSignal | null = null) {
    this.#url = url
    this.#signal = signal
  }

  /** The same node, for questions that all have to be answered in this time. */
  within(timeoutMs: number): SolanaRpc {
    return new SolanaRpc(this.#url, AbortSignal.timeout(timeoutMs))
  }

  /** Rejects with `SolanaRefusal` where the node refuses, and with any other error where it gives no valid answer. */
  async ask<Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      try {
        return result.parse(await this.#askOnce(method, params))
      } catch (error) {
        // Time that ran out, as opposed to a connection that broke, would run out again.
        const isBroken = error instanceof TypeError
        if (!isBroken || attempt === rpcRetries) throw error
      }
    }
  }

  /**
   * Sends a transaction, base64, once. Rejects with `SolanaRefusal` where the node refuses, and then it has not been
   * sent; any other error leaves that open. A second try would hide that the first one may have arrived: another node
   * behind the same address, which is behind its sibling, refuses what that one has taken.
   */
  async send(wire: string, config: object): Promise<void> {
    await this.#askOnce('sendTransaction', [wire, { encoding: 'base64', ...config }])
  }

  async #askOnce(method: string, params: readonly unknown[]): Promise<unknown> {
    const timeout = AbortSignal.timeout(rpcTimeoutMs)
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      redirect: 'error',
      signal: this.#signal ? AbortSignal.any([timeout, this.#signal]) : timeout,
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`The node answered with status ${response.status}.`)
    }
    const { result, error } = Answer.parse(await response.json())
    if (error) throw new SolanaRefusal(error.code, error.message, error.data)
    return result
  }
}

/** How deep a transaction must lie before it counts: voted for by two thirds of the stake, or never to be dropped. */
export type SolanaCommitment = 'confirmed' | 'finalized'

const TokenBalances = z
  .array(
    z.object({
      accountIndex: z.number(),
      mint: z.string(),
      uiTokenAmount: z.object({ amount: z.string().regex(/^\d{1,20}$/) }),
    }),
  )
  .nullish()
export type TokenBalances = z.output<typeof TokenBalances>

const Executed = z
  .object({
    meta: z.object({ err: z.unknown(), preTokenBalances: TokenBalances, postTokenBalances: TokenBalances }),
    transaction: z.tuple([z.string(), z.literal('base64')]),
    /** Seconds; nodes forget it after a while. */
    blockTime: z.number().nullish(),
  })
  .nullable()
/** A transaction that a block holds, whether it succeeded or failed. */
export type Executed = NonNullable<z.output<typeof Executed>>

/** Null where the node has no block of that depth with the transaction. */
export function executedOf(
  rpc: SolanaRpc,
  signature: string,
  commitment: SolanaCommitment,
): Promise<z.output<typeof Executed>> {
  const config = { encoding: 'base64', commitment, maxSupportedTransactionVersion: 0 }
  return rpc.ask('getTransaction', [signature, config], Executed)
}

/** Whether it is the very message that the payer has signed. */
export function isOf({ message }: SvmPayment, executed: Executed): boolean {
  const transaction = readTransaction(Buffer.from(executed.transaction[0], 'base64'))
  return transaction !== null && Buffer.from(transaction.message).toString('base64') === message
}

/** How far the finalized chain is. A slot is the time of a block, whether one is made in it or not. */
export interface ChainHead {
  absoluteSlot: number
  blockHeight: number
}

interface SvmSearchOptions {
  rpc: SolanaRpc
  commitment: SolanaCommitment
  /** How many are read in one search; `searchedTransactions` where it is not said. */
  transactions?: number
}

const Listed = z.array(z.object({ signature: z.string(), slot: z.number() }))
type Listed = z.output<typeof Listed>

/**
 * Looks for a payment among all that its payer did since it was signed, for a transaction whose name only its fee payer
 * knows. What was read once is not read again, so a search that was cut short goes on where it was.
 */
export class SvmSearch {
  readonly #rpc: SolanaRpc
  readonly #commitment: SolanaCommitment
  readonly #transactions: number
  /** Transactions that are certainly not the payment, by its message. */
  readonly #others = new Map<string, Set<string>>()

  constructor({ rpc, commitment, transactions = searchedTransactions }: SvmSearchOptions) {
    this.#rpc = rpc
    this.#commitment = commitment
    this.#transactions = transactions
  }

  /**
   * The name of the payment's transaction; null where the node has none. With `isLast` only a node may say so that is as
   * far as `head`. Rejects where it could not be told, in `searchMs` at the most.
   */
  async find(payment: SvmPayment, head: ChainHead, isLast: boolean): Promise<string | null> {
    const rpc = this.#rpc.within(searchMs)
    const others = this.#othersOf(payment)
    const { firstSlot, claimSlot } = slotsOf(payment, head)
    // A node that has not come as far refuses, where its silence would say nothing.
    const depth = { commitment: this.#commitment, ...(isLast ? { minContextSlot: head.absoluteSlot } : {}) }
    const all = await list(rpc, transferOf(payment).source, depth, firstSlot)
    const listed = all.filter(({ signature }) => !others.has(signature))
    // It most likely landed right after it was claimed.
    listed.sort((one, other) => Math.abs(one.slot - claimSlot) - Math.abs(other.slot - claimSlot))
    const now = listed.slice(0, this.#transactions)
    for (let at = 0; at < now.length; at += searchedAtOnce) {
      const some = now.slice(at, at + searchedAtOnce).map(({ signature }) => signature)
      const areIt = await Promise.all(some.map(signature => this.#isIt(rpc, payment, signature)))
      const found = some[areIt.indexOf(true)]
      if (found !== undefined) return found
      for (const signature of some) others.add(signature)
    }
    if (listed.length > now.length) throw new Error('The payer has made more transactions than one search reads.')
    return null
  }

  async #isIt(rpc: SolanaRpc, payment: SvmPayment, signature: string): Promise<boolean> {
    const executed = await executedOf(rpc, signature, this.#commitment)
    // Nodes behind one address answer for themselves; what cannot be read may be the payment.
    if (!executed) throw new Error('The node lists a transaction, and does not have it yet.')
    return isOf(payment, executed)
  }

  #othersOf({ message }: SvmPayment): Set<string> {
    const others = this.#others.get(message) ?? new Set()
    this.#others.delete(message)
    this.#others.set(message, others)
    const [oldest] = this.#others.keys()
    if (this.#others.size > rememberedSearches && oldest !== undefined) this.#others.delete(oldest)
    return others
  }
}

/** All that name the account since that slot, a page at a time: nodes list the newest first, and no more than they like. */
async function list(rpc: SolanaRpc, account: string, depth: object, firstSlot: number): Promise<Listed> {
  const all: Listed = []
  for (let page = 0; page < searchedPages; page++) {
    const last = all.at(-1)
    const config = { limit: listedTransactions, ...depth, ...(last ? { before: last.signature } : {}) }
    const listed = await rpc.ask('getSignaturesForAddress', [account, config], Listed)
    all.push(...listed)
    const oldest = listed.at(-1)
    if (!oldest || oldest.slot < firstSlot) return all.filter(({ slot }) => slot >= firstSlot)
  }
  throw new Error('The payer has made more transactions since than are listed for one payment.')
}

function transferOf(payment: SvmPayment) {
  const message = readMessage(Buffer.from(payment.message, 'base64'))
  if (!message) throw new Error('The stored message cannot be read.')
  return readTransfer(message)
}

/** Before `firstSlot` no block can hold it, its blockhash being younger; what was not claimed may be of any age. */
function slotsOf({ lastBlockHeight }: SvmPayment, { absoluteSlot, blockHeight }: ChainHead) {
  if (lastBlockHeight === null) return { firstSlot: 0, claimSlot: absoluteSlot }
  const blocksSince = Math.max(0, blockHeight - (lastBlockHeight - expiryMarginBlocks - blockhashBlocks))
  const slotsBack = (blocksSince + blockhashBlocks) * mostSlotsOfBlock + searchSlotMargin
  return { firstSlot: absoluteSlot - slotsBack, claimSlot: absoluteSlot - blocksSince }
}
