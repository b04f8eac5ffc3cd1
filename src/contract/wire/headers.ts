import {
  base64JsonHeader,
  booleanHeader,
  choiceHeader,
  dateHeader,
  httpDateHeader,
  integerHeader,
  patternHeader,
  picoUsdHeader,
  textHeader,
  timestampHeader,
  usdHeader,
} from './header-codec.ts'
import { PaymentPayload, SettlementResponse } from './payment.ts'
import { PaymentRequiredHeader } from './payment-required.ts'

/** Every header (brief §2.3, §5, §8.4, §9), with `service` as the vendor word. */

export const authorization = textHeader('authorization', 'request, API key')
export const signInWithX = textHeader('sign-in-with-x', 'request, wallet')
export const legacySignInWithX = textHeader('x-sign-in-with-x', 'request, wallet, older name')
/** The caller chooses it. The pattern is published for one operation and applied to all. */
export const idempotencyKey = patternHeader(/^[A-Za-z0-9_-]{1,255}$/)('idempotency-key', 'request, paid calls')
export const idempotentReplayed = booleanHeader(
  'idempotent-replayed',
  'a repeated answer under the same Idempotency-Key',
)

/**
 * Not in the published contract (brief §9): without it, a client can't tell whether a paid call may be repeated after a
 * lost answer.
 */
export const paidOncePerKey = booleanHeader(
  'x-service-paid-once-per-key',
  'the list of models, if every paid call takes an Idempotency-Key',
)

/** Specific to farebox, so they have its name instead of a vendor's. */
export const ownRequestId = textHeader('x-farebox-request-id', 'answers through Cloudflare, which replaces `cf-ray`')
export const wantReceipt = booleanHeader('x-farebox-want-receipt', 'request, paid calls')
export const receipt = patternHeader(/^[\w-]+[.][\w-]+[.][\w-]+$/)(
  'x-farebox-receipt',
  'paid calls that request a receipt, except streams',
)

export const paymentSignature = base64JsonHeader(PaymentPayload, 'payment-signature', 'request, top-up')
/** Names of headers that carry a payment; the first is the current one (brief §2.3). */
export const paymentHeaderNames = ['payment-signature', 'x-402-payment', 'x-payment'] as const

export const paymentRequired = base64JsonHeader(PaymentRequiredHeader, 'payment-required', 'every 402')
export const paymentResponse = base64JsonHeader(SettlementResponse, 'payment-response', '200 of a top-up')
export const balanceRemaining = usdHeader('x-balance-remaining', 'inference calls paid by a wallet')

export const contentType = textHeader('content-type', 'always')
export const contentEncoding = choiceHeader(['gzip', 'br'])('content-encoding', 'when the client sends accept-encoding')
export const date = httpDateHeader('date', 'always')
export const requestId = textHeader('cf-ray', 'always')
export const version = textHeader('x-service-version', 'always')
export const timestamp = timestampHeader('x-service-timestamp', 'when timestamp tracking is enabled')
export const hostName = textHeader('x-service-host-name', 'errors and debugging')
export const modelId = textHeader('x-service-model-id', 'inference endpoints')
export const modelName = textHeader('x-service-model-name', 'inference endpoints')
export const modelRouter = textHeader('x-service-model-router', 'when routing info is available')
export const deprecationWarning = textHeader('x-service-model-deprecation-warning', 'deprecated model used')
export const deprecationDate = dateHeader('x-service-model-deprecation-date', 'deprecated model used')
export const deprecated = booleanHeader('x-service-deprecated', 'deprecated model used')
export const deprecatedReplacement = textHeader('x-service-deprecated-replacement', 'deprecated model used')
export const balanceDiem = usdHeader(
  'x-service-balance-diem',
  'authenticated requests; shows the balance before the request',
)
export const balanceUsd = usdHeader(
  'x-service-balance-usd',
  'authenticated requests; shows the balance before the request',
)
export const isBlurred = booleanHeader('x-service-is-blurred', 'image generation with safe mode on')

export const isContentViolation = booleanHeader('x-service-is-content-violation', 'content generation endpoints')
export const isAdultModelContentViolation = booleanHeader(
  'x-service-is-adult-model-content-violation',
  'image generation',
)
export const containsMinor = booleanHeader('x-service-contains-minor', 'image analysis with age detection')
export const middlefaceVersion = textHeader('x-service-middleface-version', "requests from the service's web client")
export const mobileVersion = textHeader('x-service-mobile-version', 'requests from mobile app')
export const requestTimestamp = integerHeader('x-service-request-timestamp-ms', 'when the client provides one')
export const controlInstance = textHeader('x-service-control-instance', 'image generation, for debugging')
export const authRefreshed = booleanHeader('x-auth-refreshed', 'when tokens were refreshed')
export const retryCount = integerHeader('x-retry-count', 'when retries occur')

export const limitRequests = integerHeader('x-ratelimit-limit-requests', 'authenticated requests')
export const remainingRequests = integerHeader('x-ratelimit-remaining-requests', 'authenticated requests')
/** Unix seconds, by the service's clock, from which the caller may retry. */
export const resetRequests = integerHeader('x-ratelimit-reset-requests', 'authenticated requests')
export const limitTokens = integerHeader('x-ratelimit-limit-tokens', 'authenticated requests to text models')
export const remainingTokens = integerHeader('x-ratelimit-remaining-tokens', 'authenticated requests to text models')
/** Seconds from now, unlike `resetRequests`. */
export const resetTokens = integerHeader('x-ratelimit-reset-tokens', 'authenticated requests to text models')
export const limitTypes = ['user', 'api_key', 'global'] as const
export type LimitType = (typeof limitTypes)[number]
export const limitType = choiceHeader(limitTypes)('x-ratelimit-type', 'when a limit is enforced')
export const retryAfter = integerHeader('retry-after', 'answers that may be retried')
/** Only on the 429 of chain nodes, in addition to the others, as published; the last is in Unix seconds. */
export const rpcLimit = integerHeader('x-ratelimit-limit', '429 on calls to chain nodes')
export const rpcRemaining = integerHeader('x-ratelimit-remaining', '429 on calls to chain nodes')
export const rpcReset = integerHeader('x-ratelimit-reset', '429 on calls to chain nodes')
export const rpcUsedCredits = integerHeader('x-service-rpc-credits', 'calls to chain nodes')
export const rpcCost = picoUsdHeader('x-service-rpc-cost-usd', 'calls to chain nodes')
export const rpcRequestId = patternHeader(/^[0-9A-Za-z]{32}$/)('x-request-id', 'calls to chain nodes')
/** False if a repeat might be charged again; OpenAI's own clients retry every 5xx without it. */
export const shouldRetry = booleanHeader('x-should-retry', 'answers whose request must not be retried automatically')

export const paginationLimit = integerHeader('x-pagination-limit', 'paginated endpoints')
export const paginationPage = integerHeader('x-pagination-page', 'paginated endpoints')
export const paginationTotal = integerHeader('x-pagination-total', 'paginated endpoints')
export const paginationTotalPages = integerHeader('x-pagination-total-pages', 'paginated endpoints')

/** For an answer as CSV, which cannot contain a cursor; absent on the last page. */
export const nextCursor = textHeader('x-next-cursor', 'CSV lists with a next page')

export const contentDisposition = textHeader('content-disposition', 'file downloads and exports')
