import { z } from 'zod'
import { encodeBase58 } from '#contract/base58.ts'
import { microUsd } from '#contract/money.ts'
import { blockhashBlocks, expiryMarginBlocks, searchedTransactions } from './bounds.ts'
import { ChainUnavailable } from './chain-unavailable.ts'
import type { OnChain, PaymentChain } from './payment-chain.ts'
import type { SvmPayment } from './signed-payment.ts'
import type { SolanaKey } from './solana-key.ts'
import { readMessage, readTransaction } from './solana-message.ts'
import { SolanaRpc } from './solana-rpc.ts'
import { readTransfer } from './svm-transfer.ts'

/** How deep a transaction must lie before it counts: voted for by two thirds of the stake, or never to be dropped. */
export type SolanaCommitment = 'confirmed' | 'finalized'

export interface SvmPaymentChainOptions {
  rpcUrl: string
  commitment: SolanaCommitment
  /**
   * Pays the fees; null where somebody else does. Its signature names a transaction, so every transaction of ours is
   * known before it is sent.
   */
  feePayer: SolanaKey | null
}

const Status = z.object({
  err: z.unknown(),
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullable().optional(),
})
const Statuses = z.object({
  context: z.object({ slot: z.number() }),
  value: z.array(Status.nullable()).length(1),
})
const TokenBalances = z
  .array(
    z.object({
      accountIndex: z.number(),
      mint: z.string(),
      uiTokenAmount: z.object({ amount: z.string().regex(/^\d{1,20}$/) }),
    }),
  )
  .nullish()
const Transaction = z
  .object({
    meta: z.object({ err: z.unknown(), preTokenBalances: TokenBalances, postTokenBalances: TokenBalances }),
    transaction: z.tuple([z.string(), z.literal('base64')]),
    /** Seconds; nodes forget it after a while. */
    blockTime: z.number().nullish(),
  })
  .nullable()
type Transaction = z.output<typeof Transaction>

const EpochInfo = z.object({ absoluteSlot: z.number(), blockHeight: z.number() })
const Signatures = z.array(z.object({ signature: z.string() }))

/** Reads payments on Solana from a node. Asks nothing of the network until the first question. */
export class SvmPaymentChain implements PaymentChain<SvmPayment> {
  readonly #rpc: SolanaRpc
  readonly #commitment: SolanaCommitment
  readonly #feePayer: SolanaKey | null

  constructor({ rpcUrl, commitment, feePayer }: SvmPaymentChainOptions) {
    this.#rpc = new SolanaRpc(rpcUrl)
    this.#commitment = commitment
    this.#feePayer = feePayer
  }

  /** A blockhash tells nothing of its age, so the payment is given as long as the newest one of this moment. */
  async dated(payment: SvmPayment): Promise<SvmPayment> {
    try {
      const { blockHeight } = await this.#epochInfo('processed')
      return { ...payment, lastBlockHeight: blockHeight + blockhashBlocks + expiryMarginBlocks }
    } catch (cause) {
      throw new ChainUnavailable('The node did not tell how far the chain is.', { cause })
    }
  }

  async find(payment: SvmPayment, transaction: string | null): Promise<OnChain> {
    try {
      const own = this.#signatureOf(payment)
      const look = () => (own === null ? this.#lookOrSearch(payment, transaction) : this.#look(payment, own))
      return (await look()) ?? (await this.#absent(payment, look))
    } catch (cause) {
      throw new ChainUnavailable('The node did not tell what became of the payment.', { cause })
    }
  }

  /** Ed25519 gives one signature for a message, and that of the fee payer is the name of the transaction. */
  #signatureOf({ feePayer, message }: SvmPayment): string | null {
    if (feePayer !== this.#feePayer?.address) return null
    return encodeBase58(this.#feePayer.sign(Buffer.from(message, 'base64')))
  }

  /** For a payment whose fee another key pays: its transaction is not known beforehand, and a name that is told proves nothing. */
  async #lookOrSearch(payment: SvmPayment, told: string | null): Promise<OnChain | null> {
    const seen = told === null ? null : await this.#look(payment, told)
    if (seen) return seen
    const found = await this.#search(payment)
    return found === null ? null : this.#look(payment, found)
  }

  /** Null where no block holds the transaction, or where it is not the payment's. */
  async #look(payment: SvmPayment, signature: string): Promise<OnChain | null> {
    const { value } = await this.#statusOf(signature)
    const [status] = value
    if (!status) return null
    // Nodes leave the member out where they have forgotten how deep it is, which is for the deepest.
    const depth = status.confirmationStatus ?? 'finalized'
    const isDeep = depth === 'finalized' || depth === this.#commitment
    return isDeep ? this.#read(payment, signature) : { state: 'unconfirmed' }
  }

  #statusOf(signature: string) {
    return this.#rpc.ask('getSignatureStatuses', [[signature], { searchTransactionHistory: true }], Statuses)
  }

  /** Credits what the token account got by the very message that was signed, whoever says that this is its transaction. */
  async #read(payment: SvmPayment, signature: string): Promise<OnChain | null> {
    const found = await this.#transaction(signature)
    // Nodes behind one address answer for themselves; without the transaction nobody may say that nothing landed.
    if (!found) throw new Error('The node has the status of a transaction, and not yet the transaction.')
    if (!isOf(payment, found)) return null
    const received = found.meta.err === null ? receivedIn(payment, found) : 0n
    if (received <= 0n) return { state: 'void', reason: 'transaction_failed' }
    const time = typeof found.blockTime === 'number' ? { atSeconds: found.blockTime } : {}
    return { state: 'landed', transaction: signature, amount: microUsd(received), ...time }
  }

  #transaction(signature: string): Promise<Transaction> {
    const config = { encoding: 'base64', commitment: this.#commitment, maxSupportedTransactionVersion: 0 }
    return this.#rpc.ask('getTransaction', [signature, config], Transaction)
  }

  /**
   * Over is a payment when the finalized chain is beyond its last block and, asked once more by a node that has come at
   * least as far, no block holds it.
   */
  async #absent(payment: SvmPayment, lookAgain: () => Promise<unknown>): Promise<OnChain> {
    if (payment.lastBlockHeight === null) return { state: 'open' }
    const { blockHeight, absoluteSlot } = await this.#epochInfo('finalized')
    if (blockHeight <= payment.lastBlockHeight) return { state: 'open' }
    const { context } = await this.#statusOf(this.#signatureOf(payment) ?? neverSigned)
    if (context.slot < absoluteSlot) return { state: 'open' }
    return (await lookAgain()) === null ? { state: 'over' } : { state: 'open' }
  }

  #epochInfo(commitment: 'processed' | 'finalized') {
    return this.#rpc.ask('getEpochInfo', [{ commitment }], EpochInfo)
  }

  async #search(payment: SvmPayment): Promise<string | null> {
    const message = readMessage(Buffer.from(payment.message, 'base64'))
    if (!message) throw new Error('The stored message cannot be read.')
    const config = { limit: searchedTransactions, commitment: this.#commitment }
    const { source } = readTransfer(message)
    const listed = await this.#rpc.ask('getSignaturesForAddress', [source, config], Signatures)
    for (const { signature } of listed) {
      const found = await this.#transaction(signature)
      if (found && isOf(payment, found)) return signature
    }
    if (listed.length < searchedTransactions) return null
    throw new Error('The payer has made more transactions since than are searched for one payment.')
  }
}

/** A signature that no transaction has: only the state of the node that answers is of interest. */
const neverSigned = '1'.repeat(64)

const isOf = ({ message }: SvmPayment, found: NonNullable<Transaction>): boolean => {
  const transaction = readTransaction(Buffer.from(found.transaction[0], 'base64'))
  return transaction !== null && Buffer.from(transaction.message).toString('base64') === message
}

/** By how much the balance of our token account rose, in base units. */
function receivedIn({ message, destination, option }: SvmPayment, { meta }: NonNullable<Transaction>): bigint {
  const place = readMessage(Buffer.from(message, 'base64'))?.accounts.indexOf(destination)
  const amountIn = (balances: z.output<typeof TokenBalances>) =>
    BigInt(
      balances?.find(({ accountIndex, mint }) => accountIndex === place && mint === option.asset)?.uiTokenAmount
        .amount ?? 0,
    )
  return amountIn(meta.postTokenBalances) - amountIn(meta.preTokenBalances)
}
