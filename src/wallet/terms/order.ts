import type { MicroUsd } from '#contract/money.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { AskedAbout } from './about-call.ts'

/** Credit at the service, as an answer of it told. */
export interface SeenCredit {
  balanceMicroUsd: MicroUsd
  /** What it was before the call that was answered took its price; absent where it was not told. */
  beforeCallMicroUsd?: MicroUsd | null
  /**
   * How long ago the request was sent that was answered with it: what was paid since may not be in it. Asked when it is
   * held against the journal, whose clock is another one.
   */
  agoMs(): number
}

/** How a service is paid, as it says. */
export interface Offer {
  accepts: readonly PaymentOption[]
  /** Unix milliseconds by the service's own clock, as they go on since it sent the offer; null where it did not say. */
  serviceNowMs?: (() => number) | null
}

/** What a client wants paid, with the offer as the service sent it. */
export interface Order extends Offer {
  /** Origin of the service that answered 402. */
  origin: string
  /** What is missing, or what someone wants to top up. */
  amountMicroUsd: MicroUsd
  /** `after-402` pays by itself within the caps; `asked` is a top-up that someone wants; `refill` is ahead of need. */
  occasion: 'after-402' | 'asked' | 'refill'
  /** For `refill`: the credit that called for it, and when the request was sent that told it, by the clock of the records. */
  seen?: Pick<SeenCredit, 'balanceMicroUsd'> & { sentAtMs: number }
  /** For `after-402`: the credit that the 402 told; null where it told none. */
  toldMicroUsd?: MicroUsd | null
  /** For `asked`: one of the same amount that was confirmed within this time is this one, so nothing is paid again. */
  sameWithinMs?: number
  /** The call that it is for, where there is one: the id of its operation, the hash of its request, and what it is about. */
  call?: { operation: string | null; requestHash: string; about?: AskedAbout | undefined }
  /** What it is for, in our words, for the receipt. */
  purpose: string
}

/** A token on a chain that may be paid with; its unit is a micro-USD (six decimals), whatever an offer says. */
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

/** The offer of a service that is paid. */
export interface ChosenOption {
  option: PaymentOption
  payee: Payee
  /** Whether configuration or the user has agreed to this payee. */
  isKnownPayee: boolean
  /** Of EIP-712, on an EVM chain. */
  tokenName: string
  tokenVersion: string
}

/** One payment as a key has signed it. */
export interface SignedPayment {
  /** Value of `PAYMENT-SIGNATURE`. Anyone who holds it can collect the payment, so it is a secret. */
  payload: string
  nonce: string
  /** On Solana an estimate: there the height decides. */
  validBeforeMs: number
  /** On Solana: the last height at which a block may hold it, and the text by which it is found there. */
  chainLife?: { lastValidBlockHeight: number; memo: string }
}

/** What counts against the caps: planned, signed, sent, unknown and confirmed alike. */
export interface Spent {
  dayMicroUsd: bigint
  totalMicroUsd: bigint
  /** When room comes back in the day's cap; null where nothing was spent. */
  oldestOfDayAtMs: number | null
  /** The last confirmed payment that another one has to wait after. */
  lastPaymentAtMs: number | null
}
