import type { z } from 'zod'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { PaymentChain, PaymentReason, ReceivedPayment, SignedPayment } from '../payment/payment.ts'

/** All that top-ups need to know of one kind of network. Each has a folder, and a line in `rails/rails.ts`. */
export interface Rail<Payment extends SignedPayment = SignedPayment, Settings = object> {
  name: Payment['rail']
  /** Of its payments as rows keep them. */
  schema: z.ZodType<Payment>
  /** Whether a network, as CAIP-2, is one of its. */
  serves(network: string): boolean
  /** The payment in its canonical form; its terms are still to be checked. Throws `invalidPayment`. */
  decode(received: ReceivedPayment, option: PaymentOption): Payment
  /** Compares all but the amount with our own option, whatever the client says it accepted. Throws `invalidPayment`. */
  checkTerms(payment: Payment, received: ReceivedPayment): void
  /** What is wrong with the time of a payment, or null. The chain's own clock decides once it is sent. */
  untimely(payment: Payment, nowMs: number): UntimelyPayment | null
  /** Normalised, as an account's wallet is. */
  payerOf(payment: Payment): string
  /** Unix seconds after which it can no longer land; undefined when the chain counts blocks instead. */
  validBeforeSecondsOf(payment: Payment): number | undefined
  /** What makes two payments of one key the same authorisation. */
  signedTextOf(payment: Payment): string
  /** A payee in the one spelling that can be compared. */
  payee(payTo: string): string
  /** Offered to callers; none when its operator set nothing up for it. Throws a sentence for settings that cannot be used. */
  options(settings: Settings): readonly PaymentOption[]
  /** What reads its chain, and what settles on it. Null when its operator set nothing up for it. */
  open(settings: Settings, clock: Clock): Promise<OpenRail<Payment>> | null
}

export interface OpenRail<Payment extends SignedPayment = SignedPayment> {
  chain: PaymentChain<Payment>
  facilitator: Facilitator<Payment>
}

export interface UntimelyPayment {
  expired: boolean
  refusal: ServiceError
}

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
