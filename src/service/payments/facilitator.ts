import type { PaymentReason } from './payment-reasons.ts'
import type { SignedPayment } from './signed-payment.ts'

/** Who checks payments against the chain and brings them there. Built in, or somebody else's over HTTP. */
export interface Facilitator {
  /** Moves nothing. Rejects with `ChainUnavailable` where it cannot tell a bad payment from a broken connection. */
  verify(payment: SignedPayment): Promise<Verdict>
  /** Repeating it is safe: the token takes a nonce once. A rejection means that anything may have happened. */
  settle(payment: SignedPayment): Promise<Settlement>
  /** CAIP-2 networks that it settles on. */
  supported(): readonly string[]
}

export type Verdict = { valid: true } | { valid: false; reason: PaymentReason }

export type Settlement =
  /** It says so; the chain has the last word. */
  | { state: 'settled'; transaction: string }
  /** On its way: it may have landed, or still land. */
  | { state: 'sent'; transaction: string }
  /** Nothing moved and nothing is on its way; the payment is to blame. */
  | { state: 'refused'; reason: PaymentReason }
  /** Nothing moved and nothing is on its way; the payment is not to blame. `why` is for the operator. */
  | { state: 'unsent'; why: string }
