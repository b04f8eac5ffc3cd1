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

/** An error that knows its own answer. Thrown where it is found, put on the wire in one place. */
export class ServiceError extends Error {
  readonly kind: string
  readonly status: number
  readonly retry: RetryAdvice
  /** JSON as the error table's schema of this kind has it. */
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
