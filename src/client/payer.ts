import type { MicroUsd } from '#contract/money.ts'
import type { PaymentOption, SettlementResponse } from '#contract/payment.ts'
import type { TopUpResult } from '#contract/top-up.ts'

/** Who signs in and pays for a client. It journals and signs; the client supplies `send`. Nothing else holds a key. */
export interface Payer {
  readonly address: string
  /** Value of a fresh `SIGN-IN-WITH-X` header for a request to `url`; the message is the payer's own, never a server's text. */
  signIn(url: string): Promise<string>
  /**
   * One payment within the policy, with a row on disk before anything is signed. A payment that is still open is sent
   * again, the same bytes, before another one is thought of. Throws the wallet's refusal, or its question to a person.
   */
  pay(order: PaymentOrder, send: SendPayment): Promise<PaidTopUp>
}

export interface PaymentOrder {
  /** Origin of the service, as the policy pins it. */
  origin: string
  /** What the service's 402 offers. */
  accepts: readonly PaymentOption[]
  amountMicroUsd: MicroUsd
  /** `after-402` pays by itself within the caps; `asked` is a top-up that somebody wants. */
  occasion: 'after-402' | 'asked'
  /** What it is for, in our words, for the receipt. */
  purpose: string
}

/** Sends one signed payment. Never throws: an answer that did not come is an outcome. */
export type SendPayment = (paymentSignature: string) => Promise<SentPayment>

export type SentPayment =
  | { kind: 'credited'; result: TopUpResult; settlement: SettlementResponse | null }
  /** The service said no; the authorisation may still be good until it expires. */
  | { kind: 'rejected'; status: number; reason: string }
  /** Lost answer, 500, pending: only the same bytes may be sent again. */
  | { kind: 'unknown'; reason: string }

export interface PaidTopUp {
  receiptId: string
  creditedMicroUsd: MicroUsd
  newBalanceMicroUsd: MicroUsd
  transaction: string | null
}
