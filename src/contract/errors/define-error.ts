import type { z } from 'zod'
import { CodedError, KeyLimitReached, StandardError } from './failures.ts'
import { type ErrorKind, type RetryAdvice, ServiceError } from './service-error.ts'

type AnswerHeaders = Readonly<Record<string, string>>

/** Every defined kind, in the order of the table's lines. */
export const definedKinds: ErrorKind[] = []

/** Adds a kind to the table and returns a function that creates its error. */
export function defineError<Schema extends z.ZodType>(kind: string, status: number, body: Schema, retry: RetryAdvice) {
  const defined: ErrorKind<Schema> = { kind, status, body, retry }
  definedKinds.push(defined)
  return (body: z.input<Schema>, headers?: AnswerHeaders) => new ServiceError(defined, body, headers)
}

/** `{error}` with a fixed sentence, which clients may match on. */
export function defineStandard(kind: string, status: number, error: string, retry: RetryAdvice) {
  const make = defineError(kind, status, StandardError, retry)
  return (headers?: AnswerHeaders) => make({ error }, headers)
}

/** `{error, code}` with a fixed sentence, for cases that a program must tell from others with the same status. */
export function defineCoded(kind: string, status: number, error: string, retry: RetryAdvice) {
  const make = defineError(kind, status, CodedError, retry)
  return (headers?: AnswerHeaders) => make({ error, code: kind }, headers)
}

/** The published sentence, which clients may match on, followed by details of this case. */
export function defineExplained(kind: string, status: number, published: string, retry: RetryAdvice) {
  const make = defineError(kind, status, StandardError, retry)
  return (headers?: AnswerHeaders, more?: string) => make({ error: more ? `${published}${more}` : published }, headers)
}

/**
 * The published sentence, which clients may match on, followed by the rest of the budget and the amount that the call
 * would hold.
 */
export function defineKeyLimit(kind: string, published: string) {
  const make = defineError(kind, 402, KeyLimitReached, 'never')
  return (headers?: AnswerHeaders, budget?: KeyLimitReached['budget'], needed?: number) => {
    if (!budget) return make({ error: published }, headers)
    const need = needed === undefined ? '' : ` This call needs ${needed}.`
    return make({ error: `${published} ${saidOf(budget)}${need}`, budget }, headers)
  }
}

function saidOf({ currency, period, limit, left, startsAnewAt }: NonNullable<KeyLimitReached['budget']>): string {
  const per = { epoch: 'per UTC day', month: 'per UTC month', lifetime: 'in total' }[period]
  const next = startsAnewAt === null ? 'does not reset' : `resets at ${startsAnewAt}`
  return `${left} of its budget of ${limit} ${currency} ${per} is left; it ${next}.`
}
