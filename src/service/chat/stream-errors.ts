import {
  chargeUnknown,
  inferenceFailed,
  insufficientBalance,
  keyUsdLimitReached,
  ledgerReadOnly,
} from '#contract/errors.ts'
import { ServiceError } from '#contract/service-error.ts'
import { ChargeUnknown } from '../ledger/charge-unknown.ts'
import type { Refusal } from '../store/outcome.ts'

/** An error inside a stream, in the shape that OpenAI's clients read. */
export interface StreamError {
  message: string
  type: 'server_error' | 'insufficient_credit'
  param: null
  code: string | null
}

/** What became of the engine. Only our own words go out. */
export const failureError = (error: unknown): StreamError =>
  streamError(
    error instanceof ServiceError ? error : error instanceof ChargeUnknown ? chargeUnknown() : inferenceFailed(),
  )

/** Why the hold did not grow; null where the engine went beyond what it was told. */
export function refusalError(refusal: Refusal | null): StreamError {
  switch (refusal) {
    case 'insufficient_funds':
      return creditError(insufficientBalance())
    case 'over_budget':
      return creditError(keyUsdLimitReached())
    case 'read_only':
      return streamError(ledgerReadOnly())
    default:
      return streamError(inferenceFailed())
  }
}

const creditError = (error: ServiceError): StreamError => ({
  ...streamError(error),
  type: 'insufficient_credit',
  code: error.kind,
})

function streamError({ body }: ServiceError): StreamError {
  const said = typeof body === 'object' && body !== null && 'error' in body ? body.error : null
  const message = typeof said === 'string' ? said : 'Inference processing failed'
  return { message, type: 'server_error', param: null, code: null }
}
