import { topUpRequired } from '#contract/errors.ts'
import { paymentRequired } from '#contract/headers.ts'
import { x402Version } from '#contract/payment-rails.ts'
import type { ServiceError } from '#contract/service-error.ts'
import { topUp } from '#contract/top-up.ts'
import { baseUrl, type ServiceSettings } from '../../settings.ts'

/** The 402 of a top-up without a payment (brief §2.2): what may be signed, which is nothing where no payment is taken. */
export function topUpOffer(settings: Pick<ServiceSettings, 'publicUrl' | 'paymentOptions'>): ServiceError {
  const accepts = [...settings.paymentOptions]
  const error = accepts.length
    ? 'PAYMENT-SIGNATURE header is required'
    : 'This service takes no payments; ask whoever runs it for an API key with credit'
  const resource = {
    url: `${baseUrl(settings)}${topUp.path}`,
    description: topUp.summary,
    mimeType: 'application/json',
  }
  const value = paymentRequired.format({ x402Version, error, resource, accepts })
  return topUpRequired({ x402Version, accepts }, { [paymentRequired.name]: value })
}
