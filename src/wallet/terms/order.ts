import type { MicroUsd } from '#contract/money.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { AskedAbout } from './about-call.ts'

/** Credit at the service, as reported by an answer. */
export interface SeenCredit {
  balanceMicroUsd: MicroUsd
  /** The credit before the answered call's price was deducted; absent if not reported. */
  beforeCallMicroUsd?: MicroUsd | null
  /**
   * How long ago the request of that answer was sent: later payments may not be included. Evaluated when it is compared
   * with the journal, which has another clock.
   */
  agoMs(): number
}

/** How a service can be paid, according to itself. */
export interface Offer {
  accepts: readonly PaymentOption[]
  /** The service's current time in Unix milliseconds, continued since it sent the offer; null if it sent none. */
  serviceNowMs?: (() => number) | null
}

/** A payment that a client wants, with the offer as the service sent it. */
export interface Order extends Offer {
  /** Origin of the service that answered 402. */
  origin: string
  /** The missing amount, or that of the requested top-up. */
  amountMicroUsd: MicroUsd
  /**
   * `after-402` is paid without asking, within the caps; `asked` is a requested top-up; `refill` buys credit before it
   * runs out.
   */
  occasion: 'after-402' | 'asked' | 'refill'
  /**
   * For `refill`: the credit that triggered it, and when the request that reported it was sent, by the clock of the
   * records.
   */
  seen?: Pick<SeenCredit, 'balanceMicroUsd'> & { sentAtMs: number }
  /** For `after-402`: the credit in the 402; null if it has none. */
  reportedMicroUsd?: MicroUsd | null
  /**
   * For `asked`: if an equal payment was confirmed within this time, it counts as this one, and nothing is paid again.
   */
  sameWithinMs?: number
  /** The call that it is for, if any: the id of its operation, the hash of its request, and what it is about. */
  call?: { operation: string | null; requestHash: string; about?: AskedAbout | undefined }
  /** The purpose in our words, for the receipt. */
  purpose: string
}

/** A token on a chain, as a way to pay. Its unit is a micro-USD (six decimals), whatever an offer says. */
export interface Rail {
  /** CAIP-2. */
  network: string
  asset: string
}

/** Who may be paid for which service. */
export interface Payee extends Rail {
  origin: string
  payTo: string
}

export interface ChosenOffer {
  option: PaymentOption
  payee: Payee
  /** Whether the configuration or the user has approved this payee. */
  isKnownPayee: boolean
  /** The name from EIP-712, on an EVM chain. */
  tokenName: string
  tokenVersion: string
}

export interface SignedPayment {
  /** Value of `PAYMENT-SIGNATURE`. Anyone who has it can collect the payment, so it is a secret. */
  payload: string
  nonce: string
  /** An estimate on Solana, where the height decides. */
  validBeforeMs: number
  /** On Solana: the last block height that may contain it, and the memo by which it is found. */
  chainLife?: { lastValidBlockHeight: number; memo: string }
}

/** What counts against the caps: planned, signed, sent, unknown and confirmed payments alike. */
export interface Spent {
  dayMicroUsd: bigint
  totalMicroUsd: bigint
  /** When room in the daily cap returns; null if nothing was spent. */
  oldestOfDayAtMs: number | null
  /** The last confirmed payment. The next one must wait for some time after it. */
  lastPaymentAtMs: number | null
}
