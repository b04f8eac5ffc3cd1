import { createHash } from 'node:crypto'
import { z } from 'zod'
import { invalidPayment } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { decodeBase64Json, type HeaderReader } from '#contract/wire/header-codec.ts'
import { paymentHeaderNames } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import { FlatPaymentPayload, PaymentOption, PaymentPayload } from '#contract/wire/payment.ts'
import { clockSkewSeconds, minimumSecondsLeft, quotedCharacters } from '../bounds.ts'

/** Members that stored payments of every rail have; `rail` says which rail reads the rest. */
export const commonMembers = {
  /**
   * Built from decoded values only: a different spelling, encoding or extra member does not make a different payment.
   */
  key: z.string(),
  /** Our own option, with the amount that was signed; never what a client says it accepted. */
  option: PaymentOption,
}

/** A payment in its one canonical form. Each rail has its own type for the rest. */
export interface SignedPayment {
  rail: string
  key: string
  option: PaymentOption
}

/** One base unit of USDC is one micro-USD. */
export const amountOf = ({ option }: SignedPayment): MicroUsd => microUsd(BigInt(option.amount))

const idCharacters = 32

/** The `paymentId` of an answer: stable for a payment, and reveals nothing about it. */
export const paymentIdOf = (key: string): string =>
  `pay_${createHash('sha256').update(key).digest('hex').slice(0, idCharacters)}`

/** Serializes a payment for its row, so that settling can be repeated. */
export const storePayment = (payment: SignedPayment): string => JSON.stringify(payment)

/** Reads the outcome of a payment, regardless of who submitted it. Rejects with `ChainUnavailable`. */
export interface PaymentChain<Payment extends SignedPayment = SignedPayment> {
  /** `transaction` is where to look first. */
  find(payment: Payment, transaction: string | null): Promise<OnChain>
  /** Adds the end of a payment's life if it does not contain it; called before it is claimed. */
  dated?(payment: Payment): Promise<Payment>
}

export type OnChain =
  /**
   * The payment moved this amount to our payee in a successful transaction. Includes the time of its block, if the
   * chain has one.
   */
  | { state: 'landed'; transaction: string; amount: MicroUsd; atSeconds?: number }
  /** Its nonce is spent or cancelled, and we received nothing. The reason is `nonce_used` if none is given. */
  | { state: 'void'; reason?: PaymentReason }
  /** Its nonce is spent or cancelled, in a block that the chain may still drop, or that the node cannot show yet. */
  | { state: 'unconfirmed' }
  /** It is unused, and no block up to this time, if it has one, can use it any more. */
  | { state: 'open'; chainTimeSeconds?: number }
  /** It has not landed and never can. */
  | { state: 'over' }

/** The chain could not be reached, so nothing is known about the payment. The cause is for the operator. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/**
 * Returns the names of an error and its causes, for a log: a node client's messages contain its address and what was
 * signed.
 */
export function failureWords(error: unknown): string {
  const names: string[] = []
  for (let each = error; each instanceof Error && names.length < namesAtMost; each = each.cause) names.push(each.name)
  return names.join(' < ') || typeof error
}

const namesAtMost = 6

/** A payment as a client wrote it, not yet compared with what was required. */
export interface ReceivedPayment {
  scheme: string
  /** CAIP-2 or an older bare name. */
  network: string
  /** The option that the client says it accepted; null in the flat payload of older clients, which omits it. */
  accepted: { amount: string; asset: string; payTo: string } | null
  payload: Readonly<Record<string, unknown>>
}

/**
 * Reads the payment of a request from any of its header names (brief §2.3); null if there is none. Throws
 * `invalidPayment`. Byte-for-byte equal copies of a payment count as one.
 */
export function readPayment(header: HeaderReader): ReceivedPayment | null {
  // Base64 has no comma, so a comma means that a server on the way joined a repeated header.
  const values = paymentHeaderNames.flatMap(name => header(name)).flatMap(value => value.split(','))
  const [text, ...others] = new Set(values.map(value => value.trim()))
  if (text === undefined) return null
  if (others.length > 0) throw refusedPayment('conflicting_headers', { headers: paymentHeaderNames })
  return parsePayment(decode(text))
}

function decode(text: string): unknown {
  const decoded = decodeBase64Json(text)
  if (decoded.ok) return decoded.value
  const problem = `the header ${decoded.reason}`.slice(0, quotedCharacters)
  if (decoded.reason.startsWith('is longer')) throw refusedPayment('too_long', { problem })
  const isText = decoded.reason !== 'is empty' && decoded.reason !== 'is not base64'
  throw refusedPayment(isText ? 'not_json' : 'not_base64', { problem })
}

function parsePayment(value: unknown): ReceivedPayment {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusedPayment('not_json', { problem: 'the JSON is not an object' })
  }
  if (!('x402Version' in value) || value.x402Version !== x402Version) {
    throw refusedPayment('wrong_version', { x402Version })
  }
  if ('accepted' in value) {
    const parsed = PaymentPayload.safeParse(value)
    if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
    const { accepted, payload } = parsed.data
    const { scheme, network, amount, asset, payTo } = accepted
    return { scheme, network, accepted: { amount, asset, payTo }, payload }
  }
  const parsed = FlatPaymentPayload.safeParse(value)
  if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
  const { scheme, network, payload } = parsed.data
  return { scheme, network, accepted: null, payload }
}

/** Returns where in a payment the issues are: `payload.authorization.nonce`. */
export const placesOf = (issues: readonly { path: readonly PropertyKey[] }[]): string[] => [
  ...new Set(issues.map(({ path }) => path.map(String).join('.').slice(0, quotedCharacters) || 'payload')),
]

/**
 * Why a payment is rejected, in the form of `details.reason`, each with what is wrong and what to do. Nothing was
 * credited.
 */
const sentences = {
  conflicting_headers:
    'The request carries more than one payment, and they differ. Send one payment, in PAYMENT-SIGNATURE alone.',
  too_long: 'The payment header is too long. Send the signed PaymentPayload alone, without large extensions.',
  not_base64: 'The payment header is not base64. Send the JSON of a signed x402 v2 PaymentPayload in base64.',
  not_json:
    'The payment header is not valid JSON. Send the JSON of a signed x402 v2 PaymentPayload in base64, with each member once.',
  wrong_version: 'x402Version must be 2. Request the payment requirements without a payment header, and sign those.',
  payload_members:
    'A member of the payment is missing, has the wrong type or is not allowed. Send x402Version, accepted and payload; the payload of an EVM payment has exactly signature and authorization, whose members are all strings, and the payload of a Solana payment exactly transaction.',
  unsupported_scheme: 'This scheme is not accepted. Sign an option of `accepts` with the scheme exact.',
  unsupported_network: 'This network is not accepted. Sign an option of `accepts`.',
  wrong_asset: 'The payment is in a different token than requested. Sign the asset of the option in `accepts`.',
  wrong_recipient: 'The payment goes to a different address than requested. Sign the payTo of the option in `accepts`.',
  amount_not_decimal: 'An amount is not decimal. Send 1 to 18 digits, in base units of the token (5000000 is 5 USD).',
  amount_too_low: 'The amount is below the minimum of a top-up. Sign a larger one.',
  amount_too_high: 'The amount is above the maximum of a top-up. Sign smaller ones, several if needed.',
  amount_mismatch: 'accepted.amount differs from the signed amount. Sign exactly accepted.amount.',
  expired: `The authorization has expired or has less than ${minimumSecondsLeft} seconds left, and no transfer by it was found. Sign a new one.`,
  not_yet_valid:
    'The authorization is not valid yet. Wait until validAfter has passed and send it again, or sign validAfter 0.',
  validity_too_long: `validBefore is too far in the future. Set it to at most the option’s maxTimeoutSeconds from now, plus ${clockSkewSeconds} seconds for clocks that differ, and sign again.`,
  invalid_signature:
    'The signature over this authorization was not made by authorization.from. Sign the EIP-712 domain of the option in `accepts` (extra.name, extra.version, its chain and asset) with the key of an ordinary account, 65 bytes, low s.',
  contract_wallet:
    'The payer is a contract, or an account that delegates to one, and this service accepts no payments from those. Pay from an ordinary account.',
  undeployed_wallet:
    'The signature is wrapped for a wallet that is not deployed yet (ERC-6492), and this service does not deploy wallets. Deploy it and sign again.',
  insufficient_funds: 'The payer has too little of the token. Fund the wallet and send the payment again.',
  not_a_transaction:
    'payload.transaction is not a Solana transaction. Send a legacy or version 0 transaction that the payer has signed, at most 1232 bytes, in standard base64 with padding.',
  lookup_tables: 'The transaction uses address lookup tables. Name every account in the transaction itself.',
  wrong_signers:
    'The transaction requires signatures other than the two that it needs. Make it for extra.feePayer from the option in `accepts`, which pays the fee, and for the owner of the tokens.',
  wrong_fee_payer:
    'The transaction has a different fee payer than requested. Sign with extra.feePayer of the option in `accepts`.',
  fee_payer_named:
    'An instruction of the transaction uses the fee payer, which may only pay the fee. Remove it from every instruction.',
  stray_account:
    'The transaction lists an account twice, or one that no instruction uses. List each account once, and no others.',
  instruction_not_allowed:
    'The transaction does more than pay. Send one SetComputeUnitLimit, at most one SetComputeUnitPrice, one TransferChecked of the SPL Token program, and at most one Memo that names no account but the payer.',
  wallet_guard:
    'The wallet added its own checks to the transaction (Lighthouse instructions), which the fee payer does not sign. Switch off transaction protection or simulation in the wallet, pay from another wallet, or pay on another network of the 402.',
  compute_too_high: 'The transaction asks for more compute than a payment needs. Sign lower limits.',
  transaction_failed:
    'The transaction failed on the chain, so nothing was transferred. Sign a new one with a fresh blockhash.',
  nonce_used:
    'The nonce of the authorization was used for something else or cancelled, so there was no transfer to this service. Sign a new authorization with a fresh nonce.',
  paid_before:
    'The transfer by this authorization is older than the ledger of this service, so it is not credited here. Sign a new one.',
  facilitator_refused: 'The facilitator of this service refuses this payment. Pay from another wallet.',
  simulation_failed:
    'The token refuses the transfer. Sign a new authorization; if it is refused again, check the wallet.',
} as const

export type PaymentReason = keyof typeof sentences

export const isPaymentReason = (text: string): text is PaymentReason => Object.hasOwn(sentences, text)

/** Whether the payer did sign, although the payment is rejected. */
export const isSigned = (reason: PaymentReason): boolean =>
  !['invalid_signature', 'contract_wallet', 'undeployed_wallet'].includes(reason)

/**
 * The 400 for a rejected payment. `facts` are the allowed values for the caller to compare with, never the values that
 * it sent.
 */
export const refusedPayment = (reason: PaymentReason, facts: Readonly<Record<string, unknown>> = {}): ServiceError =>
  invalidPayment({ error: 'X402_INVALID_PAYMENT', message: sentences[reason], details: { reason, ...facts } })
