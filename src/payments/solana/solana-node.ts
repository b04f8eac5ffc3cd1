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

/** A node answered and refused. `data` is what it reports about a transaction. */
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

/** Calls a Solana node. Every read may be repeated; a transaction is sent once. */
export class SolanaRpc {
  readonly #url: string
  readonly #signal: AbortSignal | null

  constructor(url: string, signal: AbortSignal | null = null) {
    this.#url = url
    this.#signal = signal
  }

  /** The same node, with this time limit for all requests together. */
  within(timeoutMs: number): SolanaRpc {
    return new SolanaRpc(this.#url, AbortSignal.timeout(timeoutMs))
  }

  /** Rejects with `SolanaRefusal` if the node refuses, and with any other error if it gives no valid answer. */
  async ask<Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      try {
        return result.parse(await this.#askOnce(method, params))
      } catch (error) {
        // A timeout, unlike a broken connection, would only happen again.
        const isBroken = error instanceof TypeError
        if (!isBroken || attempt === rpcRetries) throw error
      }
    }
  }

  /**
   * Sends a base64 transaction once. Rejects with `SolanaRefusal` if the node refuses it, in which case it was not
   * sent; any other error leaves that open. A retry could hide that the first attempt arrived: another node behind the
   * same address may refuse a transaction that the first one has accepted.
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

/** How deep a transaction must be before it counts: confirmed by two thirds of the stake, or final. */
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
/** A transaction that is in a block, whether it succeeded or failed. */
export type Executed = NonNullable<z.output<typeof Executed>>

/** A node's code for a transaction of a later version than was asked for. */
const laterVersion = -32015

/**
 * Returns null if the node has no block of that depth with the transaction, and `later` for a later version than a
 * payment has: only legacy transactions and version 0 are accepted.
 */
export async function executedOf(
  rpc: SolanaRpc,
  signature: string,
  commitment: SolanaCommitment,
): Promise<Executed | 'later' | null> {
  const config = { encoding: 'base64', commitment, maxSupportedTransactionVersion: 0 }
  try {
    return await rpc.ask('getTransaction', [signature, config], Executed)
  } catch (error) {
    if (error instanceof SolanaRefusal && error.code === laterVersion) return 'later'
    throw error
  }
}

/** Whether it is exactly the message that the payer signed. */
export function isOf({ message }: SvmPayment, executed: Executed): boolean {
  const transaction = readTransaction(Buffer.from(executed.transaction[0], 'base64'))
  return transaction !== null && Buffer.from(transaction.message).toString('base64') === message
}

/** How far the finalized chain is. A slot has the length of a block, whether or not a block is made in it. */
export interface ChainHead {
  absoluteSlot: number
  blockHeight: number
}

interface SvmSearchOptions {
  rpc: SolanaRpc
  commitment: SolanaCommitment
  /** How many transactions one search reads; `searchedTransactions` by default. */
  transactions?: number
}

const Listed = z.array(z.object({ signature: z.string(), slot: z.number() }))
type Listed = z.output<typeof Listed>

/**
 * Searches everything that a payer did since it signed a payment for that payment, because only its fee payer knows the
 * transaction's signature. Transactions are read only once, so an interrupted search continues where it stopped.
 */
export class SvmSearch {
  readonly #rpc: SolanaRpc
  readonly #commitment: SolanaCommitment
  readonly #transactions: number
  /** Transactions whose message shows that they are not the payment. */
  readonly #others = new Map<string, Set<string>>()

  constructor({ rpc, commitment, transactions = searchedTransactions }: SvmSearchOptions) {
    this.#rpc = rpc
    this.#commitment = commitment
    this.#transactions = transactions
  }

  /**
   * Returns the signature of the payment's transaction; null if the node has none. With `isLast`, only a node that has
   * reached `head` may report that. Rejects if it could not be found out within `searchMs`.
   */
  async find(payment: SvmPayment, head: ChainHead, isLast: boolean): Promise<string | null> {
    const rpc = this.#rpc.within(searchMs)
    const others = this.#othersOf(payment)
    const { firstSlot, claimSlot } = slotsOf(payment, head)
    // A node that lags refuses instead of returning nothing, which would prove nothing.
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
    if (executed === 'later') return false
    // Nodes behind one address can differ; a transaction that cannot be read may be the payment.
    if (!executed) throw new Error('The node lists a transaction, but does not have it yet.')
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

/**
 * Lists every transaction that names the account since that slot, one page at a time: nodes list the newest first and
 * limit the page.
 */
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
  throw new Error('The payer has since made more transactions than are listed for one payment.')
}

function transferOf(payment: SvmPayment) {
  const message = readMessage(Buffer.from(payment.message, 'base64'))
  if (!message) throw new Error('The stored message cannot be read.')
  return readTransfer(message)
}

/**
 * No block before `firstSlot` can contain it, because its blockhash is younger; an unclaimed payment may have any age.
 */
export function slotsOf({ lastBlockHeight }: SvmPayment, { absoluteSlot, blockHeight }: ChainHead) {
  if (lastBlockHeight === null) return { firstSlot: 0, claimSlot: absoluteSlot }
  const blocksSince = Math.max(0, blockHeight - (lastBlockHeight - expiryMarginBlocks - blockhashBlocks))
  const slotsBack = (blocksSince + blockhashBlocks) * mostSlotsOfBlock + searchSlotMargin
  return { firstSlot: absoluteSlot - slotsBack, claimSlot: absoluteSlot - blocksSince }
}
