import { booksUnreachable, chargeUnknown, topUpFailed, topUpUnavailable, unknownError } from '#contract/errors.ts'
import { retryAfter, shouldRetry } from '#contract/headers.ts'
import type { Operation } from '#contract/operation.ts'
import type { ServiceError } from '#contract/service-error.ts'
import { awayRetryMs } from './bounds.ts'
import { ChargeUnknown } from './ledger/charge-unknown.ts'
import { awayReason } from './store/away-reason.ts'

const samePayment = 'nothing is known to be wrong with the payment. Send the same payment again'

/** What a caller learns of an error that is none of theirs: whether to come again, and no more. */
export function failedAnswer(operation: Operation | undefined, thrown: unknown): ServiceError {
  const isTopUp = operation?.charge === 'payment'
  if (awayReason(thrown) === null) {
    const message = `The top-up could not be processed; ${samePayment}.`
    return isTopUp ? topUpFailed({ error: 'X402_TOP_UP_FAILED', message }) : unknownError()
  }
  if (thrown instanceof ChargeUnknown) return chargeUnknown({ [shouldRetry.name]: shouldRetry.format(false) })
  const seconds = awayRetryMs / 1000
  const headers = { [retryAfter.name]: retryAfter.format(seconds) }
  if (!isTopUp) return booksUnreachable(headers)
  const message = `The books of this service cannot be reached at the moment; ${samePayment} in ${seconds} seconds.`
  return topUpUnavailable({ error: 'X402_TOP_UP_UNAVAILABLE', message }, headers)
}
