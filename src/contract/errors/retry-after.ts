import { type LimitType, limitType, resetRequests, retryAfter } from '../wire/headers.ts'
import { tooManyConcurrent } from './errors.ts'
import type { ServiceError } from './service-error.ts'

/** Names and values as on the wire. */
export type HeaderFields = Record<string, string>

export const secondsUntil = (atMs: number, nowMs: number): number => Math.max(1, Math.ceil((atMs - nowMs) / 1000))

/** Headers that say when to retry after a refusal without a rate window: a block, or too many requests in flight. */
export const retryAfterHeaders = (atMs: number, nowMs: number, type: LimitType): HeaderFields => ({
  [resetRequests.name]: resetRequests.format(Math.ceil(atMs / 1000)),
  [retryAfter.name]: retryAfter.format(secondsUntil(atMs, nowMs)),
  [limitType.name]: limitType.format(type),
})

/**
 * A refusal without a rate window may only have said in how many seconds to retry; a 429 also names the moment (brief
 * §7.2).
 */
export function resetOf({ status, headers }: Pick<ServiceError, 'status' | 'headers'>, nowMs: number): HeaderFields {
  const seconds = status === 429 ? retryAfter.parse(headers[retryAfter.name] ?? '') : null
  if (seconds === null) return {}
  return { [resetRequests.name]: resetRequests.format(Math.ceil(nowMs / 1000) + seconds) }
}

/** The 429 for a wallet with too many requests in flight, in one process or all of them. */
export const tooManyInFlight = (nowMs: number): ServiceError =>
  tooManyConcurrent(
    { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' },
    retryAfterHeaders(nowMs + concurrencyRetryMs, nowMs, 'user'),
  )

/** When a wallet with too many requests in flight may retry: soon, because it is unknown when one ends. */
const concurrencyRetryMs = 1_000
