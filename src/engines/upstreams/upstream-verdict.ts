import { ServiceError } from '#contract/errors/service-error.ts'
import { isMaybeRequests } from './request-made.ts'

/**
 * What an error tells of the upstream that it came from: `away` counts against its health, because no request can cause
 * it there; `failed` may be the request's own doing; `busy` only spares it for a while; `answered` is about the request,
 * and would be the same elsewhere.
 */
export type UpstreamVerdict = 'away' | 'failed' | 'busy' | 'answered'

const busyKinds: ReadonlySet<string> = new Set(['MODEL_OVERLOADED', 'MODEL_AT_CAPACITY'])

export function verdictOf(error: unknown): UpstreamVerdict {
  if (!(error instanceof ServiceError)) return 'failed'
  if (busyKinds.has(error.kind)) return 'busy'
  // A time-out is no such thing: a request may ask for so much that it takes too long.
  if (error.kind === 'MODEL_OFFLINE') return isMaybeRequests(error) ? 'failed' : 'away'
  return error.status >= 500 ? 'failed' : 'answered'
}

/** Whether no work can have begun there: nothing was sent, or it was refused as a whole. */
export const isNotBegun = (error: unknown): boolean =>
  error instanceof ServiceError && (busyKinds.has(error.kind) || error.kind === 'MODEL_OFFLINE')

/** A word for figures and logs, that holds nothing of a request. */
export const failureWord = (error: unknown): string => (error instanceof ServiceError ? error.kind : 'UNKNOWN_ERROR')

/** How long an upstream asked to be spared; null where it did not say. */
export function askedWaitMs(error: unknown): number | null {
  const seconds = error instanceof ServiceError ? Number(error.headers['retry-after']) : Number.NaN
  return Number.isFinite(seconds) ? seconds * 1000 : null
}
