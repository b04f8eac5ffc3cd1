import { topUpRequired } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { baseUrl } from '#contract/wire/base-url.ts'
import { paymentRequired } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import type { TopUpSettings } from '../payment/top-up-request.ts'

/** The 402 of a top-up without a payment (brief §2.2): what may be signed, which is nothing where no payment is taken. */
export function topUpOffer(settings: TopUpSettings): ServiceError {
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
