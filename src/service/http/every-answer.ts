import type { Clock } from '#contract/time.ts'
import { apiVersion } from '#contract/wire/base-url.ts'
import { requestId, requestTimestamp, timestamp, version } from '#contract/wire/headers.ts'
import type { Exchange } from './exchange.ts'

/** What every answer has (brief §9), whatever it is. */
export function setCommonHeaders(exchange: Exchange, { clock }: { clock: Clock }): void {
  exchange.set(requestId, exchange.requestId)
  exchange.set(version, apiVersion)
  exchange.set(timestamp, clock.now())
  const sentAt = requestTimestamp.parse(exchange.header(requestTimestamp.name)[0] ?? '')
  if (sentAt !== null) exchange.set(requestTimestamp, sentAt)
  exchange.setAll({
    'cache-control': 'no-store',
    vary: 'Authorization, SIGN-IN-WITH-X, PAYMENT-SIGNATURE, Accept-Encoding',
    'x-content-type-options': 'nosniff',
  })
}
