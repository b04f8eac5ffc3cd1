import type { PlanName } from '#contract/limits.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { BodyRoomBytes } from './limits/body-room.ts'
import type { LimitSettings } from './limits/limit-rules.ts'

/** What an operator decides of who may call and how often. */
export interface AccessSettings {
  /** The address that callers use, without a path: `http://127.0.0.1:8402`. Never taken from a request. */
  publicUrl: string
  /** Hosts that a sign-in message may name. */
  signInDomains: readonly string[]
  /** Lets one sign-in header serve until it expires, for clients that send it again. */
  signInWindow: boolean
  plan: PlanName
  /** What the operator changed of the plan's limits, for all or for one account. */
  limits?: LimitSettings | undefined
  /** Bytes that bodies may hold at once; the named ones where absent. */
  bodyRoom?: BodyRoomBytes
  /** What a top-up offers, one entry a rail, the amount at its minimum. */
  paymentOptions: readonly PaymentOption[]
  /** Addresses and networks of proxies whose word counts on where a request comes from; none where absent. */
  trustedProxies?: readonly string[]
}
