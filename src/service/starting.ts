import { hostname } from 'node:os'
import { type Clock, systemClock } from '#contract/clock.ts'
import { serviceStarting, topUpUnavailable } from '#contract/errors.ts'
import { hostName, retryAfter } from '#contract/headers.ts'
import { topUp } from '#contract/top-up.ts'
import { defaultVendor } from '#contract/vendor.ts'
import { startingRetrySeconds } from './bounds.ts'
import { setCommonHeaders } from './every-answer.ts'
import { Exchange } from './exchange.ts'
import { sendJson } from './middleware/send.ts'
import { basePath } from './settings.ts'
import { uuidV7 } from './store/uuid-v7.ts'

export interface StartingOptions {
  vendor?: string | undefined
  clock?: Clock
}

/** Answers requests that arrive before the service can: 503 in the shape and with the headers that every refusal has. */
export const answerStarting =
  ({ vendor = defaultVendor, clock = systemClock }: StartingOptions = {}) =>
  (request: Request): Promise<Response> => {
    const exchange = new Exchange({
      requestId: uuidV7(clock.now()),
      address: '',
      signal: request.signal,
      vendor,
      requestHeaders: name => [request.headers.get(name) ?? []].flat(),
    })
    setCommonHeaders(exchange, { clock })
    exchange.set(hostName, hostname())
    exchange.set(retryAfter, startingRetrySeconds)
    const { status, body } = refusalOf(new URL(request.url).pathname)
    return sendJson(exchange, status, body)
  }

const refusalOf = (path: string) =>
  path === `${basePath}${topUp.path}`
    ? topUpUnavailable({
        error: 'X402_TOP_UP_UNAVAILABLE',
        message: `The service is starting; nothing was taken. Send the same request again in ${startingRetrySeconds} seconds; do not sign a new payment.`,
      })
    : serviceStarting()
