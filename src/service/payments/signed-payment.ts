import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { EvmAuthorization, PaymentOption } from '#contract/payment.ts'

/** A payment in its one canonical form: addresses, nonce and signature in lower case, numbers without leading zeros. */
const EvmPayment = z.strictObject({
  rail: z.literal('evm'),
  key: z.string(),
  /** Our own option, with the amount that was signed; never what a client says it accepted. */
  option: PaymentOption,
  authorization: EvmAuthorization,
  signature: z.string(),
})
export type EvmPayment = z.output<typeof EvmPayment>

/** One member a rail. */
export type SignedPayment = EvmPayment

/** The text that a row keeps, so that settling can be repeated. */
export const storePayment = (payment: SignedPayment): string => JSON.stringify(payment)

export const readStoredPayment = (text: string): SignedPayment => EvmPayment.parse(JSON.parse(text))

/** Normalised, as an account's wallet is. */
export const payerOf = (payment: SignedPayment): string => payment.authorization.from

/** A base unit of USDC is a micro-USD. */
export const amountOf = (payment: SignedPayment): MicroUsd => microUsd(BigInt(payment.authorization.value))

/** Unix seconds after which it can no longer land. */
export const validBeforeSecondsOf = (payment: SignedPayment): number => Number(payment.authorization.validBefore)

/** Whether two payments of one key are the same authorisation; a payer can sign several with one nonce. */
export const isSamePayment = (one: SignedPayment, other: SignedPayment): boolean =>
  signedText(one) === signedText(other)

const signedText = ({ authorization: { from, to, value, validAfter, validBefore, nonce }, signature }: SignedPayment) =>
  [from, to, value, validAfter, validBefore, nonce, signature].join(' ')
