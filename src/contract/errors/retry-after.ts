import { type LimitType, limitType, resetRequests, retryAfter } from '../wire/headers.ts'
import { tooManyConcurrent } from './errors.ts'
import type { ServiceError } from './service-error.ts'

/** Names and values as they go on the wire. */
export type HeaderFields = Record<string, string>

export const secondsUntil = (atMs: number, nowMs: number): number => Math.max(1, Math.ceil((atMs - nowMs) / 1000))

/** When a caller may retry after a refusal without a rate window: a block, or too many requests in flight. */
export const retryAfterHeaders = (atMs: number, nowMs: number, type: LimitType): HeaderFields => ({
  [resetRequests.name]: resetRequests.format(Math.ceil(atMs / 1000)),
  [retryAfter.name]: retryAfter.format(secondsUntil(atMs, nowMs)),
  [limitType.name]: limitType.format(type),
})

/** The 429 of a wallet with too many requests in flight, in this process or in all of them. */
export const tooManyInFlight = (nowMs: number): ServiceError =>
  tooManyConcurrent(
    { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' },
    retryAfterHeaders(nowMs + concurrencyRetryMs, nowMs, 'user'),
  )

/** When a wallet with too many requests in flight may retry: when one ends is unknown, so soon. */
const concurrencyRetryMs = 1_000
