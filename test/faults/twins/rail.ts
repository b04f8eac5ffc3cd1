import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { PaymentChain } from '#payments/payment/payment.ts'
import type { Behaviour } from './behaviours.ts'

/** A real local chain, and what a run of twins needs of it. */
export interface Rail {
  /** What the service offers. */
  option: PaymentOption
  /** How the service reads this chain. */
  chain: PaymentChain
  /** Who settles on it, and fails in this way. */
  settleBadly(behaviour: Behaviour): Promise<BadSettling>
  /** A new payer who has the money for it, and the payment that it signed. */
  pay(): Promise<TwinPayment>
  /** Everything that has come to the payee. */
  transfers(): Promise<Transfer[]>
  close(): Promise<void>
}

export interface BadSettling {
  /** What one process of the service settles with. */
  openFacilitator(): Promise<Facilitator>
  /** How often it was asked to settle. */
  settlements(): number
  /** Resolves when everything that was accepted has been settled or has failed. */
  quiet(): Promise<void>
  close(): Promise<void>
}

export interface TwinPayment {
  payer: string
  /** Decoded, as a client would put it into its header. */
  payment: object
}

export interface Transfer {
  from: string
  amountMicroUsd: bigint
  /** The transaction that it is in, as the service names it. */
  transaction: string
}
