import type { z } from 'zod'

/** What a caller can do about an error. */
export type RetryAdvice =
  | 'never'
  | 'after-change'
  | 'after-sign-in'
  | 'after-top-up'
  | 'after-consent'
  | 'later'
  | 'same-payload'

export interface ErrorKind<Schema extends z.ZodType = z.ZodType> {
  kind: string
  status: number
  body: Schema
  retry: RetryAdvice
}

/**
 * An error that carries its own answer. It is thrown where the problem is found, and written to the wire in one place.
 */
export class ServiceError extends Error {
  readonly kind: string
  readonly status: number
  readonly retry: RetryAdvice
  /** JSON that matches the error table's schema of this kind. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(kind: ErrorKind, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`${kind.kind} (${kind.status})`)
    this.name = 'ServiceError'
    this.kind = kind.kind
    this.status = kind.status
    this.retry = kind.retry
    this.body = body
    this.headers = headers
  }
}

/** Kinds that no caller can prevent, in addition to `tooManyFailures`: the ledger is unreachable, or memory is full. */
const kinds: ReadonlySet<string> = new Set([
  'FAILED_REQUESTS',
  'BODIES_FULL',
  'LEDGER_UNREACHABLE',
  'CHARGE_UNKNOWN',
  'MODERATION_FAILED',
  'X402_TOP_UP_UNAVAILABLE',
])

const marked = new WeakSet<Error>()

/**
 * Marks an error that is not the callers' fault, although its kind usually is, such as the answer of an open breaker.
 */
export function blameless<Thrown extends Error>(error: Thrown): Thrown {
  marked.add(error)
  return error
}

/** Whether an answer doesn't count towards the caller's abuse block. */
export const isBlameless = (error: ServiceError): boolean => kinds.has(error.kind) || marked.has(error)
