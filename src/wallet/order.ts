import type { MicroUsd } from '#contract/money.ts'
import type { PaymentOption } from '#contract/payment.ts'

/** What a client wants paid, with the offer as the service sent it. */
export interface Order {
  /** Origin of the service that answered 402. */
  origin: string
  accepts: readonly PaymentOption[]
  /** What is missing, or what somebody wants to top up. */
  amountMicroUsd: MicroUsd
  /** `after-402` pays by itself within the caps; `asked` is a top-up that somebody wants. */
  occasion: 'after-402' | 'asked'
  /** For `asked`: one of the same amount that was confirmed within this time is this one, so nothing is paid anew. */
  sameWithinMs?: number
  /** The call that it is for, where there is one: the id of its operation and the hash of its request. */
  call?: { operation: string | null; requestHash: string }
  /** What it is for, in our words, for the receipt. */
  purpose: string
}
