import type { z } from 'zod'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { PaymentChain, PaymentReason, ReceivedPayment, SignedPayment } from '../payment/payment.ts'

/**
 * Everything that top-ups need to know about one kind of network. Each rail has a folder, and a line in
 * `rails/rails.ts`.
 */
export interface Rail<Payment extends SignedPayment = SignedPayment, Settings = object> {
  name: Payment['rail']
  /** Schema of its payments as rows store them. */
  schema: z.ZodType<Payment>
  /** Whether a CAIP-2 network belongs to this rail. */
  serves(network: string): boolean
  /** Returns the payment in its canonical form, with its terms not yet checked. Throws `invalidPayment`. */
  decode(received: ReceivedPayment, option: PaymentOption): Payment
  /**
   * Compares everything but the amount with our own option, whatever option the client says it accepted. Throws
   * `invalidPayment`.
   */
  checkTerms(payment: Payment, received: ReceivedPayment): void
  /** Returns what is wrong with the time of a payment, or null. Once it is sent, the chain's own clock decides. */
  untimely(payment: Payment, nowMs: number): UntimelyPayment | null
  /** Returns the payer, normalized like an account's wallet. */
  payerOf(payment: Payment): string
  /** Returns the Unix seconds after which it can no longer land; undefined if the chain counts blocks instead. */
  validBeforeSecondsOf(payment: Payment): number | undefined
  /** Returns the text that makes two payments with one key the same authorization. */
  signedTextOf(payment: Payment): string
  /** Returns a payee in a form that can be compared. */
  payee(payTo: string): string
  /**
   * Returns what is offered to callers; nothing if the operator has not configured this rail. Throws a sentence for
   * unusable settings.
   */
  options(settings: Settings): readonly PaymentOption[]
  /** Opens the parts that read its chain and settle on it. Null if the operator has not configured it. */
  open(settings: Settings, clock: Clock): Promise<OpenRail<Payment>> | null
}

export interface OpenRail<Payment extends SignedPayment = SignedPayment> {
  chain: PaymentChain<Payment>
  facilitator: Facilitator<Payment>
  /** Drafts the payment that a wallet signs, on chains where a wallet cannot compose it; base64. */
  drafts?: Drafts
}

export interface Drafts {
  /** Throws for a payer that is no address of this chain; rejects with `ChainUnavailable`. */
  draft(order: { payer: string; amount: MicroUsd; option: PaymentOption }): Promise<string>
}

export interface UntimelyPayment {
  expired: boolean
  refusal: ServiceError
}

/** Verifies payments against the chain and settles them: built in, or a remote one over HTTP. */
export interface Facilitator<Payment extends SignedPayment = SignedPayment> {
  /**
   * Moves nothing. Checks the signature before anything else, even for an expired payment. Rejects with
   * `ChainUnavailable` if it cannot tell a bad payment from a broken connection, and with `SettlementPaused` if a good
   * one cannot be settled for a while.
   */
  verify(payment: Payment): Promise<Verdict>
  /**
   * Safe to repeat: the token accepts a nonce once. A rejection says nothing about what has happened. `earlier` is the
   * transaction of an earlier attempt, which may still wait for a block.
   */
  settle(payment: Payment, earlier?: string | null): Promise<Settlement>
  /** Returns the CAIP-2 networks that it settles on. */
  supported(): readonly string[]
  /** Returns what keeps it from settling into this option, as a sentence for the operator; null if nothing does. */
  problem(option: PaymentOption): Promise<string | null>
  /** Closes its connections, if it keeps any. */
  close?(): Promise<void>
}

/** `why` is for the operator, if the reason alone does not explain the refusal. */
export type Verdict = { valid: true } | { valid: false; reason: PaymentReason; why?: string }

export type Settlement =
  /** What the facilitator reports; the chain decides. */
  | { state: 'settled'; transaction: string }
  /** In flight: it may have landed, or may still land. */
  | { state: 'sent'; transaction: string }
  /** Refused by a party whose word is no proof: it may land until it expires. */
  | { state: 'doubtful'; why: string }
  /** Nothing moved and nothing is in flight; the payment is at fault. */
  | { state: 'refused'; reason: PaymentReason }
  /** Nothing moved and nothing is in flight; the payment is not at fault. `why` is for the operator. */
  | { state: 'unsent'; why: string }

/**
 * A good payment cannot be settled for a while; nothing was taken. `message` is one sentence for the payer, and `why` one
 * for the operator.
 */
export class SettlementPaused extends Error {
  override readonly name = 'SettlementPaused'
  readonly why: string | null

  constructor(message: string, why: string | null = null) {
    super(message)
    this.why = why
  }
}
