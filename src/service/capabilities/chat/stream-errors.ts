import {
  authenticationFailed,
  chargeUnknown,
  inferenceFailed,
  insufficientBalance,
  keyUsdLimitReached,
  ledgerReadOnly,
} from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { ChargeUnknown } from '#ledger/charges/charge-unknown.ts'
import type { Refusal } from '#ledger/store/outcome.ts'

/** An error inside a stream, in the shape that OpenAI's clients read. */
export interface StreamError {
  message: string
  type: 'server_error' | 'insufficient_credit' | 'authentication_error'
  param: null
  code: string | null
}

/** What became of the engine. Only our own words go out. */
export function failureError(error: unknown): StreamError {
  if (error instanceof ServiceError) return error.kind === keyEnded.kind ? keyEndedError : streamError(error)
  return streamError(error instanceof ChargeUnknown ? chargeUnknown() : inferenceFailed())
}

const keyEnded = authenticationFailed()

const keyEndedError: StreamError = {
  message: 'This API key was revoked or has expired, so the stream ends here. What its model has made is charged.',
  type: 'authentication_error',
  param: null,
  code: keyEnded.kind,
}

/** Why the hold did not grow; null where the engine went beyond what it was told. */
export function refusalError(refusal: Refusal | null): StreamError {
  switch (refusal) {
    case 'insufficient_funds':
      return creditError(insufficientBalance())
    case 'over_budget':
      return creditError(keyUsdLimitReached())
    case 'no_key':
      return keyEndedError
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
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : null
  return { message, type: 'server_error', param: null, code }
}
