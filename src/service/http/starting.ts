import { hostname } from 'node:os'
import { serviceStarting, topUpUnavailable } from '#contract/errors/errors.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { basePath } from '#contract/wire/base-url.ts'
import { hostName, retryAfter } from '#contract/wire/headers.ts'
import { defaultVendor } from '#contract/wire/vendor.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { sendJson } from './body/send.ts'
import { startingRetrySeconds } from './bounds.ts'
import { Exchange, setCommonHeaders } from './exchange.ts'

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
