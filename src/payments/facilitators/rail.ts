import type { z } from 'zod'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { ReceivedPayment } from '../payment/payment-header.ts'
import type { PaymentChain, SignedPayment } from '../payment/signed-payment.ts'
import type { Facilitator } from './facilitator.ts'

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
