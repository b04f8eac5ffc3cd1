import type { PaymentOption } from '#contract/wire/payment.ts'
import type { PaymentReason } from '../payment/payment-reasons.ts'
import type { SignedPayment } from '../payment/signed-payment.ts'

/** Who checks payments against the chain and brings them there. Built in, or a remote one over HTTP. */
export interface Facilitator<Payment extends SignedPayment = SignedPayment> {
  /**
   * Moves nothing. Looks at the signature before anything else, also of a payment that has expired. Rejects with
   * `ChainUnavailable` where it cannot tell a bad payment from a broken connection, and with `SettlementPaused` where a
   * good one cannot be settled for a while.
   */
  verify(payment: Payment): Promise<Verdict>
  /** Repeating it is safe: the token takes a nonce once. A rejection means that anything may have happened. */
  settle(payment: Payment): Promise<Settlement>
  /** CAIP-2 networks that it settles on. */
  supported(): readonly string[]
  /** What keeps it from settling into this option, as a sentence for the operator; null where all is well. */
  problem(option: PaymentOption): Promise<string | null>
  /** Ends its connections, where it keeps some. */
  close?(): Promise<void>
}

export type Verdict = { valid: true } | { valid: false; reason: PaymentReason }

export type Settlement =
  /** It says so; the chain has the last word. */
  | { state: 'settled'; transaction: string }
  /** On its way: it may have landed, or still land. */
  | { state: 'sent'; transaction: string }
  /** Said to have been refused, by a party whose word is no proof: it may land until its time is over. */
  | { state: 'doubtful'; why: string }
  /** Nothing moved and nothing is on its way; the payment is to blame. */
  | { state: 'refused'; reason: PaymentReason }
  /** Nothing moved and nothing is on its way; the payment is not to blame. `why` is for the operator. */
  | { state: 'unsent'; why: string }

/** A good payment cannot be brought to the chain for a while; nothing was taken. `message` is one sentence for the payer. */
export class SettlementPaused extends Error {
  override readonly name = 'SettlementPaused'
}
