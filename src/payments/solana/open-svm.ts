import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { MicroUsd } from '#contract/money.ts'
import { type Clock, isAhead } from '#contract/time.ts'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcDecimals } from '#contract/wire/networks.ts'
import { type PaymentOption, paysFrom } from '#contract/wire/payment.ts'
import {
  draftMemoBytes,
  draftMicroLamportsPerUnit,
  draftUnits,
  feesPerHourLamports,
  sharedBlockhashMs,
} from '../bounds.ts'
import { FeeBudget } from '../facilitators/fee-budget.ts'
import type { OpenRail } from '../facilitators/rail.ts'
import {
  FacilitatorHttp,
  RemoteFacilitator,
  type RemoteFacilitatorOptions,
} from '../facilitators/remote-facilitator.ts'
import { ChainUnavailable } from '../payment/payment.ts'
import { LocalSvmFacilitator, svmAccountProblem } from './local-svm-facilitator.ts'
import {
  computeBudgetProgram,
  isSignedBy,
  memoProgram,
  requireAddress,
  SolanaKey,
  tokenAccountOf,
  tokenProgram,
} from './solana-key.ts'
import { checkCost, readMessage, readTransfer, signatureBytes, wireOf } from './solana-message.ts'
import { SolanaRpc } from './solana-node.ts'
import { SvmPaymentChain } from './svm-payment-chain.ts'
import { type SolanaPaymentSettings, type SvmPayment, simulatedRefusal } from './svm-rail.ts'

/** Sends nothing to the network until it is used. Throws a sentence if it is not clear who settles. */
export function openSvm(settings: SolanaPaymentSettings, clock: Clock): OpenRail<SvmPayment> {
  const { rpcUrl, commitment, feePayerKey, facilitator: remote } = settings
  const feePayer = feePayerKey ? new SolanaKey(feePayerKey) : null
  const chain = new SvmPaymentChain({ rpcUrl, commitment, feePayer })
  const drafts = new SvmDrafts(new SolanaRpc(rpcUrl), clock)
  if (remote) {
    return { chain, drafts, facilitator: openRemoteSvmFacilitator({ ...remote, network: solanaNetwork, rpcUrl }) }
  }
  if (!feePayer)
    throw new Error('Payments on Solana need a key or a remote facilitator; set either feePayerKey or facilitator.')
  const fees = new FeeBudget({ perHour: feesPerHourLamports, clock })
  return { chain, drafts, facilitator: new LocalSvmFacilitator({ network: solanaNetwork, rpcUrl, feePayer, fees }) }
}

/** Sends nothing to the network until it is used. Throws a sentence if the address is not suitable for payments. */
export function openRemoteSvmFacilitator(options: RemoteFacilitatorOptions): RemoteFacilitator<SvmPayment> {
  const { network, rpcUrl } = options
  const rpc = new SolanaRpc(rpcUrl)
  const http = new FacilitatorHttp(options)
  return new RemoteFacilitator(http, {
    network,
    async signatureProblem({ payer, message, signature }) {
      const isSigned = isSignedBy(payer, Buffer.from(message, 'base64'), Buffer.from(signature, 'base64'))
      return isSigned ? null : 'invalid_signature'
    },
    // The fee payer's signature is left empty, whatever the client put there.
    payload: payment => ({ transaction: wireOf(new Uint8Array(signatureBytes), payment) }),
    isTransaction: id => decodeBase58(id, signatureBytes) !== null,
    async chainRefusal(payment) {
      const refusal = await simulatedRefusal(rpc, payment)
      // An expired transaction is in no status cache any more, and looking for it would take hundreds of requests.
      return refusal?.by === 'payment' && refusal.reason !== 'expired' ? refusal.reason : null
    },
    async offerProblem(option, kind) {
      const offered = option.extra?.feePayer
      if (paysFrom(kind, offered)) return svmAccountProblem(rpc, option)
      return `The facilitator pays fees from ${String(kind.extra?.feePayer)} and not from ${String(offered)}; set feePayer to its account.`
    },
  })
}

interface Draft {
  payer: string
  amount: MicroUsd
  option: PaymentOption
  blockhash: string
}

const LatestBlockhash = z.object({ value: z.object({ blockhash: z.string() }) })

/** Drafts transfers for wallets that sign but do not compose. Sends nothing to the network until it is used. */
export class SvmDrafts {
  readonly #rpc: SolanaRpc
  readonly #clock: Clock
  #latest: { blockhash: string; atMs: number } | null = null

  constructor(rpc: SolanaRpc, clock: Clock) {
    this.#rpc = rpc
    this.#clock = clock
  }

  /** Returns the unsigned transaction in base64. Throws for a payer that is no key; rejects with `ChainUnavailable`. */
  async draft(order: Omit<Draft, 'blockhash'>): Promise<string> {
    return draftTransfer({ ...order, blockhash: await this.#blockhash() })
  }

  /** Drafts of the same moment share one, so that asking for many costs the node nothing. */
  async #blockhash(): Promise<string> {
    const nowMs = this.#clock.now()
    const latest = this.#latest
    if (latest && isAhead(latest.atMs + sharedBlockhashMs, sharedBlockhashMs, nowMs)) return latest.blockhash
    try {
      const config = { commitment: 'confirmed' }
      const { value } = await this.#rpc.ask('getLatestBlockhash', [config], LatestBlockhash)
      this.#latest = { blockhash: value.blockhash, atMs: nowMs }
      return value.blockhash
    } catch (cause) {
      throw new ChainUnavailable('The node gave no blockhash.', { cause })
    }
  }
}

/**
 * Composes one transfer as a legacy transaction, which every wallet can read: a limit on its cost, its price, the
 * transfer and a random memo that makes equal payments distinct. Both signatures are empty; the fee payer's stays empty
 * until the payment has come back and was checked again.
 */
function draftTransfer({ payer, amount, option, blockhash }: Draft): string {
  const { asset, payTo, extra } = option
  const feePayer = String(extra?.feePayer)
  const [source, destination] = [tokenAccountOf(payer, asset), tokenAccountOf(payTo, asset)]
  const accounts = [feePayer, payer, source, destination, asset, computeBudgetProgram, tokenProgram, memoProgram]
  const placeOf = (address: string) => accounts.indexOf(address)
  const memo = Buffer.from(randomBytes(draftMemoBytes).toString('hex'))
  const instructions = [
    instruction(placeOf(computeBudgetProgram), [], Buffer.concat([Buffer.of(2), uint32(draftUnits)])),
    instruction(placeOf(computeBudgetProgram), [], Buffer.concat([Buffer.of(3), uint64(draftMicroLamportsPerUnit)])),
    instruction(
      placeOf(tokenProgram),
      [source, asset, destination, payer].map(placeOf),
      Buffer.concat([Buffer.of(12), uint64(amount), Buffer.of(usdcDecimals)]),
    ),
    instruction(placeOf(memoProgram), [], memo),
  ]
  const message = Buffer.concat([
    // Two signers, of which the second is read-only; the last four accounts are read-only too.
    Buffer.of(2, 1, 4, accounts.length),
    ...[...accounts, blockhash].map(requireAddress),
    Buffer.of(instructions.length),
    ...instructions,
  ])
  requirePayable(message)
  return Buffer.concat([Buffer.of(2), Buffer.alloc(2 * signatureBytes), message]).toString('base64')
}

/** What we draft must be what we accept. */
function requirePayable(message: Buffer): void {
  const read = readMessage(message)
  if (!read) throw new Error('The drafted message cannot be read.')
  checkCost(readTransfer(read))
}

/** Every count here is below 128, which is one byte. */
const instruction = (program: number, accounts: readonly number[], data: Buffer): Buffer =>
  Buffer.concat([Buffer.of(program, accounts.length, ...accounts, data.length), data])

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
