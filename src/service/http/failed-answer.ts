import {
  booksUnreachable,
  chargeUnknown,
  invalidContentType,
  invalidPayment,
  topUpFailed,
  topUpUnavailable,
  unknownError,
} from '#contract/errors/errors.ts'
import { DetailedError, PayloadTooLarge, StandardError, TopUpError } from '#contract/errors/failures.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { retryAfter, shouldRetry } from '#contract/wire/headers.ts'
import { ChargeUnknown } from '#ledger/charges/charge-unknown.ts'
import { awayReason } from '#ledger/store/away-reason.ts'
import { awayRetryMs } from './bounds.ts'

const samePayment = 'nothing is known to be wrong with the payment. Send the same payment again'

const useNoBody = 'Send no body, or {}; the payment goes into the header PAYMENT-SIGNATURE.'

/** What any operation may refuse of a request, in the shapes of a top-up (brief §2.4, §7). */
export function topUpAnswer(error: ServiceError): ServiceError {
  const { kind, status, body, headers } = error
  if (status === 402 || status === 429 || TopUpError.safeParse(body).success) return error
  if (status >= 500)
    return topUpUnavailable({ error: 'X402_TOP_UP_UNAVAILABLE', message: `${saidOf(body)} ${comeBack}` }, headers)
  const message = `${kind === invalidContentType().kind ? 'The body is compressed or of another type.' : saidOf(body)} ${useNoBody}`
  return invalidPayment({ error: 'X402_INVALID_PAYMENT', message, details: { reason: 'invalid_body' } }, headers)
}

const comeBack = `As far as is known ${samePayment}.`

/** Its sentences about the whole body where it has some. */
function saidOf(body: unknown): string {
  const detailed = DetailedError.safeParse(body)
  const sentences = detailed.success ? (detailed.data.details?._errors ?? []) : []
  if (sentences.length) return sentences.map(sentence => sentence.replace(/[.]?$/, '.')).join(' ')
  const said = StandardError.or(PayloadTooLarge).safeParse(body)
  return said.success ? said.data.error : 'The request is not one that a top-up takes.'
}

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
