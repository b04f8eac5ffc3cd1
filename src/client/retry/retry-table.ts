import { ServiceError } from '#contract/errors/service-error.ts'
import { isIdempotent, isPaid, type Operation } from '#contract/operations/operation.ts'
import { ClientError } from '../client-error.ts'

/** What a repeated request could do twice: nothing, a charge, a charge that its key prevents, or a payment's credit. */
export type CallClass = 'free' | 'paid' | 'keyed' | 'payment'

/** How an attempt went, as far as a retry depends on it. */
export type Outcome =
  /** No connection: the service has not seen it. */
  | 'not-sent'
  /** No answer, or one that leaves open whether the work was done. */
  | 'lost'
  /** 429. */
  | 'limited'
  /** 503 of the contract: nothing was begun. */
  | 'unavailable'
  /** 500 and 504 of the contract. */
  | 'failed'
  /** 409: another request with the same key is at work. */
  | 'under-way'
  /** A word that another attempt would only hear again. */
  | 'refused'

/**
 * Whether another attempt is made. A paid call without a key is repeated only where the service cannot have begun it; a
 * payment is never repeated here, because the wallet itself sends the same bytes again.
 */
export const retryTable: Readonly<Record<CallClass, Readonly<Record<Outcome, boolean>>>> = {
  free: row('not-sent', 'lost', 'limited', 'unavailable', 'failed'),
  paid: row('not-sent', 'limited', 'unavailable'),
  keyed: row('not-sent', 'lost', 'limited', 'unavailable', 'failed', 'under-way'),
  payment: row(),
}

function row(...again: readonly Outcome[]): Readonly<Record<Outcome, boolean>> {
  const is = (outcome: Outcome) => again.includes(outcome)
  return {
    'not-sent': is('not-sent'),
    lost: is('lost'),
    limited: is('limited'),
    unavailable: is('unavailable'),
    failed: is('failed'),
    'under-way': is('under-way'),
    refused: is('refused'),
  }
}

/** A key counts only where the operation takes one. */
export function classOf(operation: Operation, isKeyed = false): CallClass {
  if (!isPaid(operation)) return operation.charge === 'payment' ? 'payment' : 'free'
  return isKeyed && isIdempotent(operation) ? 'keyed' : 'paid'
}

export function outcomeOf(error: unknown): Outcome {
  if (error instanceof ClientError) {
    if (error.kind === 'unreachable') return 'not-sent'
    return error.kind === 'no-answer' ? 'lost' : 'refused'
  }
  return error instanceof ServiceError ? outcomeOfAnswer(error) : 'refused'
}

function outcomeOfAnswer({ kind, status }: ServiceError): Outcome {
  if (status === 429) return 'limited'
  if (kind === 'IDEMPOTENCY_KEY_IN_USE') return 'under-way'
  // This kind is the service's last word on a piece of work, not a fault that passes.
  if (kind === 'INFERENCE_FAILED') return 'refused'
  if (status < 500) return 'refused'
  // Of a proxy's answer, and of books that went away, nobody knows what had begun.
  if (kind === 'UNKNOWN_ANSWER' || kind === 'BOOKS_UNREACHABLE' || kind === 'CHARGE_UNKNOWN') return 'lost'
  return status === 503 ? 'unavailable' : 'failed'
}
