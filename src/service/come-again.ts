import { type LimitType, limitType, resetRequests, retryAfter } from '#contract/headers.ts'

/** Names and values as they go on the wire. */
export type HeaderFields = Record<string, string>

export const secondsUntil = (atMs: number, nowMs: number): number => Math.max(1, Math.ceil((atMs - nowMs) / 1000))

/** When a caller may come again, for a refusal that is no window's: a block, or too many requests in flight. */
export const comeAgainHeaders = (atMs: number, nowMs: number, type: LimitType): HeaderFields => ({
  [resetRequests.name]: resetRequests.format(Math.ceil(atMs / 1000)),
  [retryAfter.name]: retryAfter.format(secondsUntil(atMs, nowMs)),
  [limitType.name]: limitType.format(type),
})
