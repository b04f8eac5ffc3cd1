import type { TopUpResult } from '#contract/operations/wallet.ts'
import type { SettlementResponse } from '#contract/wire/payment.ts'

/** Who signs in for a client, and pays what the client's `SendPayment` sends. Nothing else holds a key. */
export interface Payer {
  readonly address: string
  /**
   * Value of a fresh `SIGN-IN-WITH-X` header for a request to `url`; the message is the payer's own, never a server's text.
   * `skewMs`: how far the service's clock is ahead of this machine's.
   */
  signIn(url: string, options?: { skewMs?: number }): Promise<string>
}

/** Sends one signed payment. Never throws: an answer that did not come is an outcome. */
export type SendPayment = (paymentSignature: string) => Promise<SentPayment>

export type SentPayment =
  | { kind: 'credited'; result: TopUpResult; settlement: SettlementResponse | null }
  /** The service said no; the authorisation may still be good until it expires. */
  | { kind: 'rejected'; status: number; reason: string }
  /** Lost answer, 500, pending: only the same bytes may be sent again. */
  | { kind: 'unknown'; reason: string }
