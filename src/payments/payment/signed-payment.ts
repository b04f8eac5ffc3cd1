import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { PaymentOption } from '#contract/wire/payment.ts'

/** The members of a stored payment that every rail has; `rail` says which rail reads the others. */
export const commonMembers = {
  /** Decoded values alone: spelling, encoding and extra members do not make it another payment. */
  key: z.string(),
  /** Our own option, with the amount that was signed; never what a client says it accepted. */
  option: PaymentOption,
}

/** A payment in its one canonical form. Each rail has a type of its own for the rest. */
export interface SignedPayment {
  rail: string
  key: string
  option: PaymentOption
}

/** A base unit of USDC is a micro-USD. */
export const amountOf = ({ option }: SignedPayment): MicroUsd => microUsd(BigInt(option.amount))

const idCharacters = 32

/** The `paymentId` of an answer: stable for a payment, and tells nothing about it. */
export const paymentIdOf = (key: string): string =>
  `pay_${createHash('sha256').update(key).digest('hex').slice(0, idCharacters)}`

/** The text that a row keeps, so that settling can be repeated. */
export const storePayment = (payment: SignedPayment): string => JSON.stringify(payment)
