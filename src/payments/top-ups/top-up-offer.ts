import { topUpRequired } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { CountedFor } from '#contract/limits.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { baseUrl } from '#contract/wire/base-url.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import { paymentHeaderNames, paymentRequired } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import type { PaymentOption, SettlementResponse } from '#contract/wire/payment.ts'
import { readPayment, refusedPayment } from '../payment/payment.ts'

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

/** The 402 of a top-up without a payment (brief §2.2): what may be signed, which is nothing where no payment is taken. */
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

/** For a service whose credit is given out by its operator alone: a top-up offers nothing to sign, and takes nothing. */
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
