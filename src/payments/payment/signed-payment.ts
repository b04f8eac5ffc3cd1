import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { EvmAuthorization, PaymentOption } from '#contract/wire/payment.ts'

const everyRail = {
  key: z.string(),
  /** Our own option, with the amount that was signed; never what a client says it accepted. */
  option: PaymentOption,
}

/** A payment in its one canonical form: addresses, nonce and signature in lower case, numbers without leading zeros. */
const EvmPayment = z.strictObject({
  rail: z.literal('evm'),
  ...everyRail,
  authorization: EvmAuthorization,
  signature: z.string(),
})
export type EvmPayment = z.output<typeof EvmPayment>

/** A transfer on Solana that its payer has signed and whoever pays the fee has not. */
const SvmPayment = z.strictObject({
  rail: z.literal('svm'),
  ...everyRail,
  /** Base58, as all addresses here. */
  payer: z.string(),
  feePayer: z.string(),
  /** The token account that the money goes to. */
  destination: z.string(),
  /** Base64 of the bytes that both sign. */
  message: z.string(),
  /** The payer's, base64. */
  signature: z.string(),
  /** No block above this one can hold it; null until it is claimed. */
  lastBlockHeight: z.int().nonnegative().nullable(),
})
export type SvmPayment = z.output<typeof SvmPayment>

/** One member a rail. */
export type SignedPayment = EvmPayment | SvmPayment

export type Rail = SignedPayment['rail']

const Stored = z.discriminatedUnion('rail', [EvmPayment, SvmPayment])

/** The text that a row keeps, so that settling can be repeated. */
export const storePayment = (payment: SignedPayment): string => JSON.stringify(payment)

export const readStoredPayment = (text: string): SignedPayment => Stored.parse(JSON.parse(text))

/** Normalised, as an account's wallet is. */
export const payerOf = (payment: SignedPayment): string =>
  payment.rail === 'evm' ? payment.authorization.from : payment.payer

/** A base unit of USDC is a micro-USD. */
export const amountOf = ({ option }: SignedPayment): MicroUsd => microUsd(BigInt(option.amount))

/** Unix seconds after which it can no longer land; undefined where the chain counts blocks instead. */
export const validBeforeSecondsOf = (payment: SignedPayment): number | undefined =>
  payment.rail === 'evm' ? Number(payment.authorization.validBefore) : undefined

/** Whether two payments of one key are the same authorisation; an EVM payer can sign several with one nonce. */
export const isSamePayment = (one: SignedPayment, other: SignedPayment): boolean =>
  signedText(one) === signedText(other)

function signedText(payment: SignedPayment): string {
  // A payer may sign the same message twice in different bytes; the transaction it makes is the same.
  if (payment.rail === 'svm') return payment.message
  const { from, to, value, validAfter, validBefore, nonce } = payment.authorization
  return [from, to, value, validAfter, validBefore, nonce, payment.signature].join(' ')
}
