import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { encodeBase58 } from '#contract/wire/base58.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { lamportsPerSignature, receiptTimeoutMs, resendMs, solanaPollMs } from '../bounds.ts'
import { type Facilitator, type Settlement, SettlementPaused, type Verdict } from '../facilitators/facilitator.ts'
import { type FeeBudget, OneAtATime } from '../facilitators/fee-budget.ts'
import { ChainUnavailable } from '../payment/payment-chain.ts'
import type { PaymentReason } from '../payment/payment-reasons.ts'
import { isSignedBy, type SolanaKey } from './solana-key.ts'
import { readMessage, wireOf } from './solana-message.ts'
import { SolanaRefusal, SolanaRpc } from './solana-rpc.ts'
import { svmOfferProblem } from './svm-offer-problem.ts'
import type { SvmPayment } from './svm-rail.ts'
import { readTransfer, type SvmTransfer } from './svm-transfer.ts'

export interface LocalSvmFacilitatorOptions {
  /** CAIP-2. */
  network: string
  rpcUrl: string
  feePayer: SolanaKey
  /** Of what it may pay for others, in lamports. */
  fees: FeeBudget
  /** How long a block is waited for after a send; `receiptTimeoutMs` where it is not said. */
  patienceMs?: number
}

const Simulated = z.object({ value: z.object({ err: z.unknown() }) })
const Accounts = z.object({ value: z.array(z.object({}).nullable()) })
const Refused = z.object({ err: z.unknown() })
const Statuses = z.object({ value: z.array(z.unknown()) })

/** A node's code for a transaction that failed when it was tried, before it was sent. */
const preflightFailed = -32002

const paused = 'The service cannot take payments on Solana for the moment.'

/**
 * Settles on Solana with a key of our own that pays the fees. What it signs has been read to the last byte before, so
 * what is left is a signature and a few questions to a node. Asks nothing of the network until it is used.
 */
export class LocalSvmFacilitator implements Facilitator<SvmPayment> {
  readonly #network: string
  readonly #rpc: SolanaRpc
  readonly #feePayer: SolanaKey
  readonly #fees: FeeBudget
  readonly #patienceMs: number
  readonly #sends = new OneAtATime()

  constructor({ network, rpcUrl, feePayer, fees, patienceMs = receiptTimeoutMs }: LocalSvmFacilitatorOptions) {
    this.#patienceMs = patienceMs
    this.#network = network
    this.#rpc = new SolanaRpc(rpcUrl)
    this.#feePayer = feePayer
    this.#fees = fees
  }

  supported(): readonly string[] {
    return [this.#network]
  }

  async problem(option: PaymentOption): Promise<string | null> {
    try {
      return (await svmOfferProblem(this.#rpc, option, this.#feePayer.address)) ?? this.#feeProblem()
    } catch {
      return 'The Solana node cannot be reached, so payments cannot be checked; start it or set another RPC URL.'
    }
  }

  #feeProblem(): string | null {
    return this.#fees.left > 0n
      ? null
      : `Fees on Solana have reached the ${this.#fees.perHour} lamports of an hour, so payments wait; look for failed transactions of ${this.#feePayer.address}.`
  }

  async verify(payment: SvmPayment): Promise<Verdict> {
    const message = messageOf(payment)
    if (!isSignedBy(payment.payer, message, Buffer.from(payment.signature, 'base64'))) {
      return { valid: false, reason: 'invalid_signature' }
    }
    // Its row may be older than the key.
    if (payment.feePayer !== this.#feePayer.address) return { valid: false, reason: 'wrong_fee_payer' }
    const error = await this.#simulate(payment)
    const refusal = error === null ? null : await this.#judge(refusalOfError(error), payment)
    if (refusal?.by === 'payment') return { valid: false, reason: refusal.reason }
    if (refusal || this.#fees.left < feeOf(transferOf(payment))) throw new SettlementPaused(paused)
    return { valid: true }
  }

  async settle(payment: SvmPayment): Promise<Settlement> {
    if (payment.feePayer !== this.#feePayer.address) {
      return {
        state: 'unsent',
        why: `The fee payer ${payment.feePayer} of a payment was replaced; it is looked for until it is over.`,
      }
    }
    const message = messageOf(payment)
    const signature = this.#feePayer.sign(message)
    const transaction = encodeBase58(signature)
    const wire = wireOf(signature, payment)
    const outcome = await this.#sends.run(() => this.#send(wire, transaction, payment))
    if (outcome.state !== 'sent') return outcome
    return (await this.#isInBlock(transaction, wire)) ? { state: 'settled', transaction } : outcome
  }

  async #simulate(payment: SvmPayment): Promise<unknown> {
    // Signed by the payer alone: until the payment is claimed nobody gets a transaction that could be sent.
    const wire = wireOf(new Uint8Array(64), payment)
    const config = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: false, commitment: 'processed' }
    try {
      return (await this.#rpc.ask('simulateTransaction', [wire, config], Simulated)).value.err
    } catch (cause) {
      throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
    }
  }

  /** Which account a program refused, its words do not tell. */
  async #judge(refusal: SvmRefusal, payment: SvmPayment): Promise<Exclude<SvmRefusal, { by: 'program' }>> {
    if (refusal.by !== 'program') return refusal
    const { source, destination } = transferOf(payment)
    try {
      const config = { encoding: 'base64', dataSlice: { offset: 0, length: 0 }, commitment: 'processed' }
      const { value } = await this.#rpc.ask('getMultipleAccounts', [[source, destination], config], Accounts)
      if (value[1] === null) return { by: 'us', why: 'The payee has no token account on Solana; open one.' }
      return { by: 'payment', reason: value[0] === null ? 'insufficient_funds' : 'simulation_failed' }
    } catch (cause) {
      throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
    }
  }

  async #send(wire: string, transaction: string, payment: SvmPayment): Promise<Settlement> {
    const counted = this.#fees.count(feeOf(transferOf(payment)))
    if (!counted) return { state: 'unsent', why: this.#feeProblem() ?? 'The fees of this hour are used up.' }
    try {
      await this.#rpc.send(wire, { preflightCommitment: 'processed' })
      return { state: 'sent', transaction }
    } catch (error) {
      // An answer that was lost is not a transaction that was lost.
      if (!(error instanceof SolanaRefusal)) return { state: 'sent', transaction }
      const failed = Refused.safeParse(error.data)
      const why = error.code === preflightFailed && failed.success ? (failed.data.err ?? null) : null
      // The chain has executed it, so its fee was spent.
      if (why === 'AlreadyProcessed') return { state: 'sent', transaction }
      counted.correct(0n)
      if (why === null) return { state: 'unsent', why: `The Solana node refused to send a payment (${error.code}).` }
      return this.#refused(why, payment)
    }
  }

  async #refused(error: unknown, payment: SvmPayment): Promise<Settlement> {
    const refusal = await this.#judge(refusalOfError(error), payment)
    return refusal.by === 'us' ? { state: 'unsent', why: refusal.why } : { state: 'refused', reason: refusal.reason }
  }

  /** Nodes drop transactions when they are busy, so it is sent again until a block holds it or the time is up. */
  async #isInBlock(transaction: string, wire: string): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < this.#patienceMs; waitedMs += solanaPollMs) {
      const statuses = await this.#rpc.ask('getSignatureStatuses', [[transaction]], Statuses).catch(() => null)
      if (statuses?.value[0]) return true
      await sleep(solanaPollMs)
      if ((waitedMs + solanaPollMs) % resendMs === 0) await this.#sendAgain(wire)
    }
    return false
  }

  async #sendAgain(wire: string): Promise<void> {
    await this.#rpc.send(wire, { skipPreflight: true }).catch(() => null)
  }
}

const messageOf = ({ message }: SvmPayment): Uint8Array => Buffer.from(message, 'base64')

function transferOf(payment: SvmPayment): SvmTransfer {
  const message = readMessage(messageOf(payment))
  if (!message) throw new Error('The stored message cannot be read.')
  return readTransfer(message)
}

/** Two signatures, and what the payer offered for a place in a block. */
const feeOf = ({ computeUnits, microLamportsPerUnit }: SvmTransfer): bigint =>
  2n * lamportsPerSignature + (BigInt(computeUnits) * microLamportsPerUnit + 999_999n) / 1_000_000n

/** What an error of the chain says about a transaction that was not executed. */
export type SvmRefusal =
  | { by: 'payment'; reason: PaymentReason }
  /** Our fee payer or our account is at fault; for the operator. */
  | { by: 'us'; why: string }
  /** A program refused it, for either's fault. */
  | { by: 'program' }

/** Fee payers that are unknown to the chain, too poor, or not fit to pay. */
const feeErrors = ['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee']

/** `Custom(1)` of the token program, the only one that a payment runs beside a memo. */
const InsufficientTokens = z.object({
  InstructionError: z.tuple([z.number(), z.object({ Custom: z.literal(1) })]),
})

export function refusalOfError(error: unknown): SvmRefusal {
  if (error === 'BlockhashNotFound') return { by: 'payment', reason: 'expired' }
  if (error === 'AlreadyProcessed') return { by: 'payment', reason: 'nonce_used' }
  if (feeErrors.includes(String(error)) || isRentOf(error)) return { by: 'us', why: poorFeePayer }
  if (InsufficientTokens.safeParse(error).success) return { by: 'payment', reason: 'insufficient_funds' }
  return { by: 'program' }
}

const poorFeePayer = 'The account that pays fees on Solana has too little SOL; send it some.'

const isRentOf = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'InsufficientFundsForRent' in error
