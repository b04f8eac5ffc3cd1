import { keyCreditRequired, keyLimitReached, walletCredit } from '#access/payment-required.ts'
import {
  accessDisabled,
  chargeUnknown,
  invalidContentType,
  invalidPayment,
  ledgerUnreachable,
  topUpFailed,
  topUpUnavailable,
  unknownError,
} from '#contract/errors/errors.ts'
import { DetailedError, PayloadTooLarge, StandardError, TopUpError } from '#contract/errors/failures.ts'
import { resetOf } from '#contract/errors/retry-after.ts'
import { isBlameless, ServiceError } from '#contract/errors/service-error.ts'
import { addUsd, zeroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operations/operation.ts'
import {
  hostName,
  isContentViolation,
  limitRequests,
  retryAfter,
  retryCount,
  shouldRetry,
} from '#contract/wire/headers.ts'
import { ChargeUnknown, InsufficientCredit, OverBudget } from '#ledger/charges/funding.ts'
import { awayReason } from '#ledger/store/store.ts'
import { sendJson } from './body/send.ts'
import { tellLimits } from './call-limits.ts'
import type { Exchange } from './exchange.ts'
import type { Route } from './route.ts'
import type { Service } from './service.ts'

const samePayment = 'the payment itself may be valid. Send the same payment again'

const useNoBody = 'Send no body, or {}, and put the payment into the header PAYMENT-SIGNATURE.'

/** Converts a refusal that any operation may give to the shape of a top-up (brief §2.4, §7). */
function topUpAnswer(error: ServiceError): ServiceError {
  const { kind, status, body, headers } = error
  if (status === 402 || status === 429 || TopUpError.safeParse(body).success) return error
  if (status >= 500)
    return topUpUnavailable({ error: 'X402_TOP_UP_UNAVAILABLE', message: `${saidOf(body)} ${comeBack}` }, headers)
  const message = `${kind === invalidContentType().kind ? 'The body is compressed or of another type.' : saidOf(body)} ${useNoBody}`
  return invalidPayment({ error: 'X402_INVALID_PAYMENT', message, details: { reason: 'invalid_body' } }, headers)
}

const comeBack = `${samePayment}.`

/** Returns its sentences about the whole body, if it has any. */
function saidOf(body: unknown): string {
  const detailed = DetailedError.safeParse(body)
  const sentences = detailed.success ? (detailed.data.details?._errors ?? []) : []
  if (sentences.length) return sentences.map(sentence => sentence.replace(/[.]?$/, '.')).join(' ')
  const said = StandardError.or(PayloadTooLarge).safeParse(body)
  return said.success ? said.data.error : 'This is not a valid top-up request.'
}

/** Returns the answer to one of our errors: it tells the caller whether to retry, and nothing else. */
export function failedAnswer(operation: Operation | undefined, thrown: unknown): ServiceError {
  const isTopUp = operation?.charge === 'payment'
  if (awayReason(thrown) === null) {
    const message = `The top-up could not be processed; ${samePayment}.`
    return isTopUp ? topUpFailed({ error: 'X402_TOP_UP_FAILED', message }) : unknownError()
  }
  if (thrown instanceof ChargeUnknown) return chargeUnknown({ [shouldRetry.name]: shouldRetry.format(false) })
  const seconds = awayRetryMs / 1000
  const headers = { [retryAfter.name]: retryAfter.format(seconds) }
  if (!isTopUp) return ledgerUnreachable(headers)
  const message = `The ledger of this service cannot be reached at the moment; ${samePayment} in ${seconds} seconds.`
  return topUpUnavailable({ error: 'X402_TOP_UP_UNAVAILABLE', message }, headers)
}

/** The content of a request or an answer was refused, by an engine or by us, which a header says too (brief §9). */
const violations: ReadonlySet<string> = new Set(['CONTENT_POLICY_VIOLATION', 'PROVIDER_CONTENT_POLICY'])

/** Reports attempts at the model's upstreams beyond the first (brief §9). */
export function tellRetries(exchange: Exchange): void {
  const retries = exchange.context?.retries
  if (retries) exchange.set(retryCount, retries)
}

/**
 * The only place where an error is written to the wire. `route` is null for addresses outside the table of operations;
 * `print` writes the body, as JSON by default.
 */
export async function fail(
  route: Route | null,
  exchange: Exchange,
  service: Service,
  thrown: unknown,
  print: (error: ServiceError) => Promise<Response> = error => sendJson(exchange, error.status, error.body),
): Promise<Response> {
  exchange.ended()
  const error = await answerOf(route, exchange, service, thrown).catch(another =>
    unforeseen(route, exchange, service, another),
  )
  // The block's own answers must not renew the block. Leaving is no failure, but it does not undo a refusal either, or
  // callers who leave could have everything checked for ever.
  const isFailure = thrown instanceof ServiceError || !exchange.signal.aborted
  if (!exchange.isExempt && !isBlameless(error) && isFailure) service.guards.failed(exchange)
  if (exchange.demand) service.guards.refused(exchange, exchange.demand, error)
  tellRetries(exchange)
  if (violations.has(error.kind)) exchange.set(isContentViolation, true)
  exchange.set(hostName, service.settings.hostName)
  if (!(limitRequests.name in error.headers)) await tellLimits(exchange, service)
  exchange.setAll({ ...resetOf(error, service.clock.now()), ...error.headers })
  return print(error)
}

/** Returns the error as it is sent. */
async function answerOf(
  route: Route | null,
  exchange: Exchange,
  service: Service,
  thrown: unknown,
): Promise<ServiceError> {
  if (thrown instanceof ServiceError) return route?.operation.charge === 'payment' ? topUpAnswer(thrown) : thrown
  const { principal } = exchange
  const isMoney = thrown instanceof InsufficientCredit || thrown instanceof OverBudget
  if (!isMoney || !principal || !route) return unforeseen(route, exchange, service, thrown)
  // More credit would not help.
  if (await service.funding.isSuspended(principal.account)) return accessDisabled()
  const asked = [service.settings, route.operation, service.identity.challenge()] as const
  if (thrown instanceof OverBudget)
    return keyLimitReached(...asked, thrown, await service.funding.keyLimit(principal, thrown.limit))
  const { usd, staking } = await service.funding.spendable(principal)
  const credit = { availableMicroUsd: addUsd(usd, staking ?? zeroUsd), neededMicroUsd: thrown.neededMicroUsd }
  return principal.kind === 'key' ? keyCreditRequired(...asked, credit) : walletCredit(...asked, credit)
}

/** Logged by its request id; the caller learns nothing else. */
function unforeseen(route: Route | null, exchange: Exchange, service: Service, thrown: unknown): ServiceError {
  if (!exchange.signal.aborted) {
    const name = thrown instanceof Error ? thrown.name : typeof thrown
    service.log.error(
      { requestId: exchange.requestId, operation: route?.operation.id, err: thrown, name },
      'A request failed with an unexpected error.',
    )
  }
  return failedAnswer(route?.operation, thrown)
}

/** Retry delay while the ledger is unreachable: restarting a database takes some seconds. */
const awayRetryMs = 5_000
