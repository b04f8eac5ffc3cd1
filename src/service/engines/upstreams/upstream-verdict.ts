import { ServiceError } from '#contract/service-error.ts'

/**
 * What an error tells of the upstream that it came from: `down` counts against its health; `busy` only spares it for a
 * while; `answered` is about the request, and would be the same elsewhere.
 */
export type UpstreamVerdict = 'down' | 'busy' | 'answered'

const busyKinds: ReadonlySet<string> = new Set(['MODEL_OVERLOADED', 'MODEL_AT_CAPACITY'])

export function verdictOf(error: unknown): UpstreamVerdict {
  if (!(error instanceof ServiceError)) return 'down'
  if (busyKinds.has(error.kind)) return 'busy'
  return error.status >= 500 ? 'down' : 'answered'
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
