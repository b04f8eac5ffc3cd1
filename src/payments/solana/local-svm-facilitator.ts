import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { usdcDecimals } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import {
  blockhashTries,
  lamportsPerSignature,
  mostComputeUnits,
  mostMicroLamportsPerUnit,
  receiptTimeoutMs,
  rentLamports,
  resendMs,
  settlementsInReserve,
  solanaPollMs,
} from '../bounds.ts'
import { type FeeBudget, OneAtATime } from '../facilitators/fee-budget.ts'
import { type Facilitator, type Settlement, SettlementPaused, type Verdict } from '../facilitators/rail.ts'
import { addressOf, isSignedBy, type SolanaKey, tokenAccountOf, tokenProgram } from './solana-key.ts'
import { type SvmTransfer, wireOf } from './solana-message.ts'
import { SolanaRefusal, SolanaRpc } from './solana-node.ts'
import { isFrozen, messageOf, refusalOf, type SvmPayment, simulatedRefusal, transferOf } from './svm-rail.ts'

export interface LocalSvmFacilitatorOptions {
  /** CAIP-2. */
  network: string
  rpcUrl: string
  feePayer: SolanaKey
  /** Caps what it may pay for others, in lamports. */
  fees: FeeBudget
  /** How long to wait for a block after sending; `receiptTimeoutMs` by default. */
  patienceMs?: number
}

const Refused = z.object({ err: z.unknown() })
const Statuses = z.object({ value: z.array(z.unknown()) })

/** A node's code for a transaction that failed its trial run, before it was sent. */
const preflightFailed = -32002

const paused = 'The service cannot accept payments on Solana at the moment.'

/**
 * Settles on Solana with our own key, which pays the fees. The transaction has already been parsed to the last byte, so
 * this only adds a signature and makes a few requests to a node. Sends nothing to the network until it is used.
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
      : `Fees on Solana have reached the cap of ${this.#fees.perHour} lamports per hour, so payments wait; look for failed transactions of ${this.#feePayer.address}.`
  }

  async verify(payment: SvmPayment): Promise<Verdict> {
    const message = messageOf(payment)
    if (!isSignedBy(payment.payer, message, Buffer.from(payment.signature, 'base64'))) {
      return { valid: false, reason: 'invalid_signature' }
    }
    // The row may be older than the key.
    if (payment.feePayer !== this.#feePayer.address) return { valid: false, reason: 'wrong_fee_payer' }
    const refusal = await simulatedRefusal(this.#rpc, payment)
    if (refusal?.by === 'payment') return { valid: false, reason: refusal.reason }
    if (refusal) throw new SettlementPaused(paused, refusal.why)
    if (this.#fees.left < feeOf(transferOf(payment))) throw new SettlementPaused(paused, this.#feeProblem())
    return { valid: true }
  }

  async settle(payment: SvmPayment): Promise<Settlement> {
    if (payment.feePayer !== this.#feePayer.address) {
      return {
        state: 'unsent',
        why: `The fee payer ${payment.feePayer} of a payment was replaced; the service looks for the payment until it has expired.`,
      }
    }
    const message = messageOf(payment)
    const signature = this.#feePayer.sign(message)
    const transaction = encodeBase58(signature)
    const wire = wireOf(signature, payment)
    const send = () => this.#sends.run(() => this.#send(wire, transaction, payment))
    let outcome = await send()
    // As when it was checked, a node may be a block behind. What a node refuses, it has not sent.
    for (let tries = 1; tries < blockhashTries && isExpired(outcome); tries++) {
      await sleep(solanaPollMs)
      outcome = await send()
    }
    if (outcome.state !== 'sent') return outcome
    return (await this.#isInBlock(transaction, wire)) ? { state: 'settled', transaction } : outcome
  }

  async #send(wire: string, transaction: string, payment: SvmPayment): Promise<Settlement> {
    const counted = this.#fees.count(feeOf(transferOf(payment)))
    if (!counted) return { state: 'unsent', why: this.#feeProblem() ?? 'The hourly cap on fees is reached.' }
    try {
      await this.#rpc.send(wire, { preflightCommitment: 'processed' })
      return { state: 'sent', transaction }
    } catch (error) {
      // Even if the answer is lost, the transaction may have been sent.
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
    const refusal = await refusalOf(error, this.#rpc, payment)
    return refusal.by === 'us' ? { state: 'unsent', why: refusal.why } : { state: 'refused', reason: refusal.reason }
  }

  /** Busy nodes drop transactions, so it is sent again until a block contains it or the time is up. */
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

const isExpired = (outcome: Settlement): boolean => outcome.state === 'refused' && outcome.reason === 'expired'

/** Two signatures, plus the payer's priority fee. */
const feeOf = ({ computeUnits, microLamportsPerUnit }: SvmTransfer): bigint =>
  2n * lamportsPerSignature + (BigInt(computeUnits) * microLamportsPerUnit + 999_999n) / 1_000_000n

const Account = z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) })
const MintAndPayee = z.object({ value: z.array(Account.nullable()).length(2) })
const Balance = z.object({ value: z.number() })

/** The highest fee that an accepted payment can cost its fee payer, in lamports. */
const highestFee = 2n * lamportsPerSignature + (BigInt(mostComputeUnits) * mostMicroLamportsPerUnit) / 1_000_000n

const mintBytes = 82

/** Returns what is wrong with an option offered on Solana, as a sentence for the operator. Rejects if the node does. */
export async function svmOfferProblem(rpc: SolanaRpc, option: PaymentOption, feePayer: string): Promise<string | null> {
  return (await svmAccountProblem(rpc, option)) ?? (await balanceProblem(rpc, feePayer))
}

/** Like `svmOfferProblem`, for an option whose fees another account pays: then the operator needs no SOL. */
export async function svmAccountProblem(
  rpc: SolanaRpc,
  { network, asset, payTo }: PaymentOption,
): Promise<string | null> {
  const genesis = await rpc.ask('getGenesisHash', [], z.string())
  // A CAIP-2 name contains the first 32 characters of it.
  if (!genesis.startsWith(network.slice('solana:'.length))) {
    return `The node serves the chain of ${genesis}, not ${network}; set the RPC URL of the right chain.`
  }
  if (!addressOf(payTo)) return `${payTo} cannot receive payments; set payTo to a Solana address whose key you hold.`
  return accountProblem(rpc, asset, payTo)
}

async function accountProblem(rpc: SolanaRpc, asset: string, payTo: string): Promise<string | null> {
  const account = tokenAccountOf(payTo, asset)
  const config = { encoding: 'base64', commitment: 'confirmed' }
  const { value } = await rpc.ask('getMultipleAccounts', [[asset, account], config], MintAndPayee)
  const [mint, payee] = value.map(each => each && { owner: each.owner, bytes: Buffer.from(each.data[0], 'base64') })
  if (mint?.owner !== tokenProgram || mint.bytes.length !== mintBytes || mint.bytes[44] !== usdcDecimals) {
    return `There is no token with ${usdcDecimals} decimals at ${asset}; set the asset's address.`
  }
  if (payee?.owner !== tokenProgram) {
    return `${payTo} has no account for ${asset} yet, so it cannot be paid; open ${account} by sending it any amount of the token.`
  }
  // The owner of an account may change while its address stays the same.
  if (encodeBase58(payee.bytes.subarray(32, 64)) !== payTo) {
    return `The account ${account} no longer belongs to ${payTo}; set payTo to another address.`
  }
  return isFrozen(payee.bytes)
    ? `The account ${account} of ${payTo} is frozen by the issuer of the token, so it cannot be paid; set payTo to another address.`
    : null
}

async function balanceProblem(rpc: SolanaRpc, feePayer: string): Promise<string | null> {
  const { value } = await rpc.ask('getBalance', [feePayer, { commitment: 'confirmed' }], Balance)
  if (value === 0) return `The account ${feePayer} has no SOL, so no payment can be settled; send it some.`
  const spare = BigInt(value) - rentLamports
  if (spare >= settlementsInReserve * highestFee) return null
  return `The account ${feePayer} has SOL for fewer than ${settlementsInReserve} payments; send it some.`
}
