import { topUpRequired } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { CountedFor } from '#contract/limits.ts'
import type { MicroUsd } from '#contract/money.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { baseUrl } from '#contract/wire/base-url.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import { paymentHeaderNames, paymentRequired } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import type { PaymentOption, SettlementResponse } from '#contract/wire/payment.ts'
import { readPayment, refusedPayment } from '../payment/payment.ts'
import type { PaymentLook } from './payment-looks.ts'

export interface TopUpSettings {
  /** The address that callers use, without a path. */
  publicUrl: string
  /** What a top-up offers: one entry per network, with the minimum amount. */
  paymentOptions: readonly PaymentOption[]
}

export interface Payments {
  /**
   * Handles one top-up (brief §4.1). Throws `topUpRequired`, `invalidPayment`, `settlementPending`. `body` is the
   * stored answer, the same bytes for every resend.
   */
  topUp(request: TopUpRequest): Promise<{ body: string; settlement: SettlementResponse }>
  /**
   * Drafts the payment for a wallet on this network to sign, base64; null if wallets compose it themselves. Absent if
   * no payment is accepted. Throws if the payer is not an address; rejects with `ChainUnavailable`.
   */
  draft?(order: DraftOrder): Promise<string | null>
  /**
   * Drives a payment in flight now instead of at the next round, for an operator; null if there is no such payment.
   * Absent where no payment is accepted.
   */
  lookAgain?(key: string): Promise<PaymentLook | null>
  /** What keeps payments from being settled, as of the last check: one sentence per network. */
  problems?(): readonly string[]
}

export interface DraftOrder {
  /** CAIP-2. */
  network: string
  payer: string
  amount: MicroUsd
}

export interface TopUpRequest {
  header: HeaderReader
  /** The caller's, in the form by which callers are counted. */
  address: string
  /**
   * Counts this request towards the limit, or throws 429. Not called for a payment that was accepted before: its
   * resends cost nothing and must get its answer.
   */
  count: (countedFor: CountedFor) => Promise<void>
}

/**
 * The 402 of a top-up without a payment (brief §2.2): what may be signed, which is nothing if no payment is accepted.
 */
export function topUpOffer(settings: TopUpSettings): ServiceError {
  const accepts = [...settings.paymentOptions]
  const error = accepts.length
    ? 'PAYMENT-SIGNATURE header is required'
    : 'This service accepts no payments; ask its operator for an API key with credit'
  const resource = {
    url: `${baseUrl(settings)}${topUp.path}`,
    description: topUp.summary,
    mimeType: 'application/json',
  }
  const value = paymentRequired.format({ x402Version, error, resource, accepts })
  return topUpRequired({ x402Version, accepts }, { [paymentRequired.name]: value })
}

/** For a service where only the operator gives credit: a top-up offers nothing to sign and accepts nothing. */
export class NoTopUps implements Payments {
  readonly #settings: Pick<TopUpSettings, 'publicUrl'>

  constructor(settings: Pick<TopUpSettings, 'publicUrl'>) {
    this.#settings = settings
  }

  async topUp({ header, count }: TopUpRequest): Promise<never> {
    const isOffer = paymentHeaderNames.every(name => header(name).length === 0)
    await count(isOffer ? 'offer' : 'address')
    if (readPayment(header)) throw refusedPayment('unsupported_network', { networks: [] })
    throw topUpOffer({ ...this.#settings, paymentOptions: [] })
  }

  async close(): Promise<void> {}
}
