import { z } from 'zod'
import { microUsd } from '#contract/money.ts'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { blockhashBlocks, expiryMarginBlocks, keptSlots } from '../bounds.ts'
import { ChainUnavailable, type OnChain, type PaymentChain } from '../payment/payment.ts'
import type { SolanaKey } from './solana-key.ts'
import { readMessage } from './solana-message.ts'
import {
  type ChainHead,
  type Executed,
  executedOf,
  isOf,
  type SolanaCommitment,
  SolanaRpc,
  SvmSearch,
  slotsOf,
  type TokenBalances,
} from './solana-node.ts'
import type { SvmPayment } from './svm-rail.ts'

export interface SvmPaymentChainOptions {
  rpcUrl: string
  commitment: SolanaCommitment
  /**
   * Pays the fees; null if someone else does. Its signature identifies a transaction, so we know every transaction of
   * ours before it is sent.
   */
  feePayer: SolanaKey | null
  /** How many of a payer's transactions one search reads; `searchedTransactions` by default. */
  searchedTransactions?: number
}

const Status = z.object({
  err: z.unknown(),
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullable().optional(),
})
const Statuses = z.object({
  context: z.object({ slot: z.number() }),
  value: z.array(Status.nullable()).length(1),
})
const EpochInfo = z.object({ absoluteSlot: z.number(), blockHeight: z.number() })
const Validity = z.object({ context: z.object({ slot: z.number() }), value: z.boolean() })

/** Reads payments on Solana from a node. Sends nothing to the network until first used. */
export class SvmPaymentChain implements PaymentChain<SvmPayment> {
  readonly #rpc: SolanaRpc
  readonly #commitment: SolanaCommitment
  readonly #feePayer: SolanaKey | null
  readonly #search: SvmSearch
  /** The hash that names the node's chain; null until it was asked for. */
  #genesis: string | null = null

  constructor({ rpcUrl, commitment, feePayer, searchedTransactions }: SvmPaymentChainOptions) {
    this.#rpc = new SolanaRpc(rpcUrl)
    const limit = searchedTransactions === undefined ? {} : { transactions: searchedTransactions }
    this.#search = new SvmSearch({ rpc: this.#rpc, commitment, ...limit })
    this.#commitment = commitment
    this.#feePayer = feePayer
  }

  /** A blockhash does not reveal its age, so the payment gets the lifetime that the newest blockhash has now. */
  async dated(payment: SvmPayment): Promise<SvmPayment> {
    try {
      await this.#requireChainOf(payment)
      const { blockHeight } = await this.#epochInfo('processed')
      return { ...payment, lastBlockHeight: blockHeight + blockhashBlocks + expiryMarginBlocks }
    } catch (cause) {
      throw new ChainUnavailable('The node did not report the height of the chain.', { cause })
    }
  }

  async find(payment: SvmPayment, transaction: string | null): Promise<OnChain> {
    try {
      const own = this.#signatureOf(payment)
      const seen = own ?? transaction
      const found = seen === null ? null : await this.#look(payment, seen)
      if (found) return found
      return await this.#absent(payment, own)
    } catch (cause) {
      throw new ChainUnavailable('The node did not report the outcome of the payment.', { cause })
    }
  }

  /** Ed25519 gives one signature per message, and the fee payer's signature identifies the transaction. */
  #signatureOf({ feePayer, message }: SvmPayment): string | null {
    if (feePayer !== this.#feePayer?.address) return null
    return encodeBase58(this.#feePayer.sign(Buffer.from(message, 'base64')))
  }

  /** Returns null if no block contains the transaction, or it is not the payment's. */
  async #look(payment: SvmPayment, signature: string): Promise<OnChain | null> {
    const { value } = await this.#statusOf(signature)
    const [status] = value
    if (!status) return null
    // Nodes omit this member once they have forgotten the depth, which happens only for the deepest transactions.
    const depth = status.confirmationStatus ?? 'finalized'
    const isDeep = depth === 'finalized' || depth === this.#commitment
    return isDeep ? this.#read(payment, signature) : { state: 'unconfirmed' }
  }

  #statusOf(signature: string) {
    return this.#rpc.ask('getSignatureStatuses', [[signature], { searchTransactionHistory: true }], Statuses)
  }

  /**
   * Credits exactly the amount that the signed message brought to the token account, regardless of who reported the
   * transaction.
   */
  async #read(payment: SvmPayment, signature: string): Promise<OnChain | null> {
    const found = await executedOf(this.#rpc, signature, this.#commitment)
    // A node stores a transaction a moment after its status, and nodes behind one address can differ.
    if (!found) return { state: 'unconfirmed' }
    if (found === 'later' || !isOf(payment, found)) return null
    const received = found.meta.err === null ? receivedIn(payment, found) : 0n
    if (received <= 0n) return { state: 'void', reason: 'transaction_failed' }
    const time = typeof found.blockTime === 'number' ? { atSeconds: found.blockTime } : {}
    return { state: 'landed', transaction: signature, amount: microUsd(received), ...time }
  }

  /**
   * A payment is over if the finalized chain is past its last block, and a node that has reached at least that point
   * confirms that no block contains it.
   */
  async #absent(payment: SvmPayment, own: string | null): Promise<OnChain> {
    if (own !== null && payment.lastBlockHeight === null) return { state: 'open' }
    const head = await this.#epochInfo('finalized')
    const isOver = await this.#isOver(payment, head, own ?? neverSigned)
    const state = isOver ? 'over' : 'open'
    return own === null ? ((await this.#lookAmong(payment, head, isOver)) ?? { state }) : { state }
  }

  async #isOver(payment: SvmPayment, head: ChainHead, signature: string): Promise<boolean> {
    const { lastBlockHeight } = payment
    if (lastBlockHeight === null || head.blockHeight <= lastBlockHeight) return false
    await this.#requireChainOf(payment)
    await this.#requireBlocksSince(payment, head)
    if (await this.#mayLandAfter(head, payment)) return false
    // Both in one answer, because the next one may be that of a node that is behind.
    const { context, value } = await this.#statusOf(signature)
    return context.slot >= head.absoluteSlot && value[0] === null
  }

  /** The last height in a row is too low if a node that was behind reported the chain's height when it was claimed. */
  async #mayLandAfter({ absoluteSlot }: ChainHead, { message }: SvmPayment): Promise<boolean> {
    const blockhash = readMessage(Buffer.from(message, 'base64'))?.blockhash
    const { context, value } = await this.#rpc.ask(
      'isBlockhashValid',
      [blockhash, { commitment: 'finalized' }],
      Validity,
    )
    return value || context.slot < absoluteSlot
  }

  /** Every payment is missing on another chain, so a wrong address of the node would end them all. */
  async #requireChainOf({ option: { network } }: SvmPayment): Promise<void> {
    this.#genesis ??= await this.#rpc.ask('getGenesisHash', [], z.string())
    if (this.#genesis.startsWith(network.slice('solana:'.length))) return
    this.#genesis = null
    throw new Error('The node serves another chain.')
  }

  /** A node that has dropped the blocks of the payment reports a transaction in them as missing. */
  async #requireBlocksSince(payment: SvmPayment, head: ChainHead): Promise<void> {
    const { firstSlot } = slotsOf(payment, head)
    if (head.absoluteSlot - firstSlot <= keptSlots) return
    const kept = await this.#rpc.ask('getFirstAvailableBlock', [], z.number())
    if (kept > firstSlot) throw new Error('The node does not have the blocks since the payment was claimed.')
  }

  /**
   * For a payment whose fee another key pays: its transaction is not known in advance, and a reported signature proves
   * nothing.
   */
  async #lookAmong(payment: SvmPayment, head: ChainHead, isOver: boolean): Promise<OnChain | null> {
    const found = await this.#search.find(payment, head, isOver)
    if (found === null) return null
    const seen = await this.#look(payment, found)
    if (!seen) throw new Error('The node has the transaction of the payment, but not yet its status.')
    return seen
  }

  #epochInfo(commitment: 'processed' | 'finalized') {
    return this.#rpc.ask('getEpochInfo', [{ commitment }], EpochInfo)
  }
}

/** A signature that no transaction has: only the state of the answering node matters here. */
const neverSigned = '1'.repeat(64)

/** Returns how much the balance of our token account rose, in base units. */
function receivedIn({ message, destination, option }: SvmPayment, { meta }: Executed): bigint {
  const place = readMessage(Buffer.from(message, 'base64'))?.accounts.indexOf(destination)
  const amountIn = (balances: TokenBalances) =>
    BigInt(
      balances?.find(({ accountIndex, mint }) => accountIndex === place && mint === option.asset)?.uiTokenAmount
        .amount ?? 0,
    )
  return amountIn(meta.postTokenBalances) - amountIn(meta.preTokenBalances)
}
