import type { ServiceError } from '#contract/service-error.ts'

/** Kinds that no caller can help, beside `tooManyFailures` itself: the ledger is away, or memory is full. */
const kinds: ReadonlySet<string> = new Set([
  'FAILED_REQUESTS',
  'BODIES_FULL',
  'BOOKS_UNREACHABLE',
  'CHARGE_UNKNOWN',
  'MODERATION_FAILED',
  'X402_TOP_UP_UNAVAILABLE',
])

const marked = new WeakSet<Error>()

/** Marks an error of a kind that callers cause at other times, such as the answer of an open breaker. */
export function blameless<Thrown extends Error>(error: Thrown): Thrown {
  marked.add(error)
  return error
}

/** Whether an answer counts towards nobody's abuse block. */
export const isBlameless = (error: ServiceError): boolean => kinds.has(error.kind) || marked.has(error)
