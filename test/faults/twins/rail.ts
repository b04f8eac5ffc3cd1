import type { PaymentOption } from '#contract/payment.ts'
import type { Facilitator } from '#service/payments/facilitator.ts'
import type { PaymentChain } from '#service/payments/payment-chain.ts'
import type { Settler } from './settler.ts'

/** A real local chain, and what a run of twins needs of it. */
export interface Rail {
  /** What the service offers. */
  option: PaymentOption
  /** The honest facilitator behind the hostile one. */
  settler: Settler
  /** How the service reads this chain. */
  chain: PaymentChain
  /** How the service reaches a facilitator at this address. */
  openFacilitator(url: string): Promise<Facilitator>
  /** A new payer who has the money for it, and the payment that it signed. */
  pay(): Promise<TwinPayment>
  /** Everything that has come to the payee. */
  transfers(): Promise<Transfer[]>
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
