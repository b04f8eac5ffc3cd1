import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { smallestTopUpMicroUsd, solanaNetwork, usdcDecimals, usdcOnSolana } from '#contract/wire/networks.ts'
import { type PaymentOption, SolanaPayload } from '#contract/wire/payment.ts'
import { blockhashTries, solanaPollMs } from '../bounds.ts'
import type { Rail } from '../facilitators/rail.ts'
import type { RemoteFacilitatorSettings } from '../facilitators/remote-facilitator.ts'
import {
  ChainUnavailable,
  commonMembers,
  type PaymentReason,
  placesOf,
  type ReceivedPayment,
  refusedPayment,
} from '../payment/payment.ts'
import { isSignedBy, SolanaKey, tokenAccountOf } from './solana-key.ts'
import { checkCost, readMessage, readTransaction, readTransfer, type SvmTransfer, wireOf } from './solana-message.ts'
import type { SolanaCommitment, SolanaRpc } from './solana-node.ts'

export interface SolanaPaymentSettings {
  /** Receives the money; its USDC account must already exist. */
  payTo: string
  rpcUrl: string
  /** `confirmed` within a second or two; `finalized` after about thirteen, when no block can be dropped any more. */
  commitment: SolanaCommitment
  /**
   * The key that pays the fees of settlements, which must not be the payee's: 64 bytes in base58, as wallets export a
   * key. Absent if `facilitator` settles.
   */
  feePayerKey?: string
  /** Another service that settles instead of our own key; the node still decides what is credited. */
  facilitator?: RemoteFacilitatorSettings & {
    /** The address from which it pays fees. */
    feePayer: string
  }
}

export interface SvmPaymentSettings {
  /** Absent if payments on Solana are not accepted. */
  solana?: SolanaPaymentSettings
}

/** A transfer on Solana that its payer has signed and the fee payer has not. */
const SvmPayment = z.strictObject({
  rail: z.literal('svm'),
  ...commonMembers,
  /** Base58, like all addresses here. */
  payer: z.string(),
  feePayer: z.string(),
  /** The token account that receives the money. */
  destination: z.string(),
  /** Base64 of the bytes that both sign. */
  message: z.string(),
  /** The payer's, base64. */
  signature: z.string(),
  /** No block above this one can contain it; null until it is claimed. */
  lastBlockHeight: z.int().nonnegative().nullable(),
})
export type SvmPayment = z.output<typeof SvmPayment>

/** The rail of Solana, by a transaction whose fee we pay. */
export const svmRail: Rail<SvmPayment, SvmPaymentSettings> = {
  name: 'svm',
  schema: SvmPayment,
  serves: network => network.startsWith('solana:'),
  decode: decodeSvmPayment,
  checkTerms: checkSvmTerms,
  // It is valid as long as the chain knows its blockhash, which only the chain can tell.
  untimely: () => null,
  payerOf: ({ payer }) => payer,
  validBeforeSecondsOf: () => undefined,
  // A payer may sign the same message in two encodings; the resulting transaction is the same.
  signedTextOf: ({ message }) => message,
  payee: payTo => payTo,
  options: ({ solana }) => (solana ? [solanaOption(solana)] : []),
  open: ({ solana }, clock) => (solana ? import('./open-svm.ts').then(({ openSvm }) => openSvm(solana, clock)) : null),
}

/** How long a payer may take (published contract); the chain forgets a blockhash sooner. */
const maxTimeoutSeconds = 300

const solanaOption = (solana: SolanaPaymentSettings): PaymentOption => ({
  scheme: 'exact',
  network: solanaNetwork,
  amount: `${smallestTopUpMicroUsd}`,
  asset: usdcOnSolana,
  payTo: solana.payTo,
  maxTimeoutSeconds,
  extra: { feePayer: feePayerOf(solana) },
})

/** Throws a sentence if it is not clear who pays the fees. */
function feePayerOf({ feePayerKey, facilitator }: SolanaPaymentSettings): string {
  if (feePayerKey && !facilitator) return new SolanaKey(feePayerKey).address
  if (facilitator && !feePayerKey) return facilitator.feePayer
  throw new Error('Payments on Solana need a key or a remote facilitator; set either feePayerKey or facilitator.')
}

/**
 * Decodes a transaction that makes one transfer and is signed by its payer. Its owner and cost are not checked yet.
 * Throws `invalidPayment`.
 */
function decodeSvmPayment({ payload }: ReceivedPayment, option: PaymentOption): SvmPayment {
  const parsed = SolanaPayload.safeParse(payload)
  if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
  const { message, signatures } = decodeTransaction(parsed.data.transaction)
  const transfer = transferIn(message)
  // The fee payer's signature is ours to fill in; whatever a client put there is ignored.
  const [, signature] = signatures
  if (signatures.length !== 2 || !signature || !isSignedBy(transfer.payer, message, signature)) {
    throw refusedPayment('invalid_signature')
  }
  return {
    rail: 'svm',
    // No signature is part of the key, because anyone can put any bytes in the fee payer's place.
    key: ['svm', option.network, createHash('sha256').update(message).digest('hex')].join(':'),
    option: { ...option, amount: `${transfer.amount}` },
    payer: transfer.payer,
    feePayer: transfer.feePayer,
    destination: transfer.destination,
    message: base64(message),
    signature: base64(signature),
    lastBlockHeight: null,
  }
}

/**
 * Compares everything but the amount with our own option, whatever option the client says it accepted. Throws
 * `invalidPayment`.
 */
function checkSvmTerms({ option, message }: SvmPayment, { accepted }: ReceivedPayment): void {
  const transfer = transferIn(Buffer.from(message, 'base64'))
  const { asset, payTo, extra } = option
  if ((accepted && accepted.asset !== asset) || transfer.mint !== asset || transfer.decimals !== usdcDecimals) {
    throw refusedPayment('wrong_asset', { asset })
  }
  const payee = tokenAccountOf(payTo, asset)
  // A transfer from the payee's own account would bring in nothing.
  if ((accepted && accepted.payTo !== payTo) || transfer.destination !== payee || transfer.source === payee) {
    throw refusedPayment('wrong_recipient', { payTo })
  }
  if (transfer.feePayer !== extra?.feePayer) throw refusedPayment('wrong_fee_payer', { feePayer: extra?.feePayer })
  checkCost(transfer)
}

function decodeTransaction(text: string) {
  const bytes = Buffer.from(text, 'base64')
  const transaction = bytes.toString('base64') === text ? readTransaction(bytes) : null
  if (!transaction) throw refusedPayment('not_a_transaction')
  return transaction
}

function transferIn(bytes: Uint8Array): SvmTransfer {
  const message = readMessage(bytes)
  if (!message) throw refusedPayment('not_a_transaction')
  return readTransfer(message)
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** What a chain's error says about a transaction that was not executed. */
type SvmRefusal =
  | { by: 'payment'; reason: PaymentReason }
  /** Our fee payer or our account is at fault; for the operator. */
  | { by: 'us'; why: string }
  /** A program refused it; either side may be at fault. */
  | { by: 'program' }

type JudgedRefusal = Exclude<SvmRefusal, { by: 'program' }>

const Simulated = z.object({ value: z.object({ err: z.unknown() }) })
const Account = z.object({ data: z.tuple([z.string(), z.literal('base64')]) })
const Accounts = z.object({ value: z.array(Account.nullable()).length(2) })

/** Returns why the chain would not execute a payment now; null if it would. Rejects with `ChainUnavailable`. */
export async function simulatedRefusal(rpc: SolanaRpc, payment: SvmPayment): Promise<JudgedRefusal | null> {
  let error = await simulate(rpc, payment)
  // One of several nodes behind an address may be a block behind the one that told the payer the blockhash.
  for (let tries = 1; tries < blockhashTries && error === unknownBlockhash; tries++) {
    await sleep(solanaPollMs)
    error = await simulate(rpc, payment)
  }
  return error === null ? null : refusalOf(error, rpc, payment)
}

const unknownBlockhash = 'BlockhashNotFound'

async function simulate(rpc: SolanaRpc, payment: SvmPayment): Promise<unknown> {
  // Signed by the payer alone: until the payment is claimed, no node gets a transaction that could be executed.
  const wire = wireOf(new Uint8Array(64), payment)
  const config = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: false, commitment: 'processed' }
  try {
    return (await rpc.ask('simulateTransaction', [wire, config], Simulated)).value.err
  } catch (cause) {
    throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
  }
}

/** The error does not say which account a program refused, so both are checked. */
export async function refusalOf(error: unknown, rpc: SolanaRpc, payment: SvmPayment): Promise<JudgedRefusal> {
  const refusal = refusalOfError(error)
  if (refusal.by !== 'program') return refusal
  const { source, destination } = transferOf(payment)
  try {
    const config = { encoding: 'base64', commitment: 'processed' }
    const { value } = await rpc.ask('getMultipleAccounts', [[source, destination], config], Accounts)
    const [paying, paid] = value
    if (!paid) return { by: 'us', why: 'The payee has no token account on Solana; open one.' }
    if (isFrozen(Buffer.from(paid.data[0], 'base64')))
      return { by: 'us', why: 'The payee’s token account on Solana is frozen; set payTo to another address.' }
    return { by: 'payment', reason: paying ? 'simulation_failed' : 'insufficient_funds' }
  } catch (cause) {
    throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
  }
}

/** Offset of a token account's state, and the state in which its issuer has frozen it. */
const [stateAt, frozen] = [108, 2]

export const isFrozen = (account: Uint8Array): boolean => account[stateAt] === frozen

/** The fee payer is unknown to the chain, has too little, or cannot pay fees. */
const feeErrors = ['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee']

/** `Custom(1)` of the token program, the only program in a payment besides a memo. */
const InsufficientTokens = z.object({
  InstructionError: z.tuple([z.number(), z.object({ Custom: z.literal(1) })]),
})

export function refusalOfError(error: unknown): SvmRefusal {
  if (error === unknownBlockhash) return { by: 'payment', reason: 'expired' }
  if (error === 'AlreadyProcessed') return { by: 'payment', reason: 'nonce_used' }
  if (feeErrors.includes(String(error)) || isRentOf(error)) return { by: 'us', why: poorFeePayer }
  if (InsufficientTokens.safeParse(error).success) return { by: 'payment', reason: 'insufficient_funds' }
  return { by: 'program' }
}

const poorFeePayer = 'The account that pays fees on Solana has too little SOL; send it some.'

const isRentOf = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'InsufficientFundsForRent' in error

export const messageOf = ({ message }: SvmPayment): Uint8Array => Buffer.from(message, 'base64')

export function transferOf(payment: SvmPayment): SvmTransfer {
  const message = readMessage(messageOf(payment))
  if (!message) throw new Error('The stored message cannot be read.')
  return readTransfer(message)
}
