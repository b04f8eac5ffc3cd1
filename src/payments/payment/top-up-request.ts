import type { CountedFor } from '#contract/limits.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import type { PaymentOption, SettlementResponse } from '#contract/wire/payment.ts'

export interface TopUpSettings {
  /** The address that callers use, without a path. */
  publicUrl: string
  /** What a top-up offers: one entry a network, the amount at its minimum. */
  paymentOptions: readonly PaymentOption[]
}

export interface Payments {
  /**
   * One top-up (brief §4.1). Throws `topUpRequired`, `invalidPayment`, `settlementPending`. `body` is the stored answer,
   * the same bytes for every resend.
   */
  topUp(request: TopUpRequest): Promise<{ body: string; settlement: SettlementResponse }>
}

export interface TopUpRequest {
  header: HeaderReader
  address: string
  /**
   * Counts this request towards the limit, or throws 429. Called for all but a payment that has been taken on before,
   * whose twins and resends cost nothing and must get its answer.
   */
  count: (countedFor: CountedFor) => Promise<void>
}
