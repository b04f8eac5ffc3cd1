import type { MicroUsd } from '#contract/money.ts'
import type { SignedPayment } from './signed-payment.ts'

/** Reads what became of a payment, whoever brought it to the chain. Rejects with `ChainUnavailable`. */
export interface PaymentChain {
  /** `transaction` is where to look first. */
  find(payment: SignedPayment, transaction: string | null): Promise<OnChain>
}

export type OnChain =
  /** The payer's nonce moved this amount to our payee, in a transaction that succeeded. */
  | { state: 'landed'; transaction: string; amount: MicroUsd }
  /** The nonce is spent or cancelled, and nothing of it came to us. */
  | { state: 'void' }
  /** The nonce is spent or cancelled, in a block that the chain may still drop. */
  | { state: 'unconfirmed' }
  /** The nonce is unused, and no block up to this time will use it any more. */
  | { state: 'open'; chainTimeSeconds: number }
