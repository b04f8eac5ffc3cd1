import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { PaymentOption } from '#contract/wire/payment.ts'
import type { PaymentReason } from './payment-reasons.ts'

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

/** Reads what became of a payment, whoever brought it to the chain. Rejects with `ChainUnavailable`. */
export interface PaymentChain<Payment extends SignedPayment = SignedPayment> {
  /** `transaction` is where to look first. */
  find(payment: Payment, transaction: string | null): Promise<OnChain>
  /** The payment with the end of its life, where it does not say that itself; asked before it is claimed. */
  dated?(payment: Payment): Promise<Payment>
}

export type OnChain =
  /** The payment moved this amount to our payee, in a transaction that succeeded. The time of its block, where the chain has one. */
  | { state: 'landed'; transaction: string; amount: MicroUsd; atSeconds?: number }
  /** It is spent or cancelled, and nothing of it came to us. The reason is `nonce_used` where none is given. */
  | { state: 'void'; reason?: PaymentReason }
  /** It is spent or cancelled, in a block that the chain may still drop. */
  | { state: 'unconfirmed' }
  /** It is unused, and no block up to this time, where the payment has one, will use it any more. */
  | { state: 'open'; chainTimeSeconds?: number }
  /** It has not landed, and never can any more. */
  | { state: 'over' }

/** The chain could not be asked, so nothing is known about the payment. The cause is for the operator. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/** Names of an error and its causes, for a log: the words of a node's client hold its address and what was signed. */
export function failureWords(error: unknown): string {
  const names: string[] = []
  for (let each = error; each instanceof Error && names.length < namesAtMost; each = each.cause) names.push(each.name)
  return names.join(' < ') || typeof error
}

const namesAtMost = 6
