import { paymentHeaderNames } from '#contract/wire/headers.ts'
import { readPayment } from '../payment/payment-header.ts'
import { refusedPayment } from '../payment/payment-reasons.ts'
import type { Payments, TopUpRequest, TopUpSettings } from '../payment/top-up-request.ts'
import { topUpOffer } from './top-up-offer.ts'

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
