/** The error table: every unsuccessful answer that a service gives (brief §7; `details` and codes as published). */

import type { z } from 'zod'
import { TopUpRequired } from '../wire/payment.ts'
import { DiscoveryRequired, WalletCreditRequired } from '../wire/payment-required.ts'
import {
  CodedError,
  ContentViolation,
  DetailedError,
  KeyLimitReached,
  NeedsConsent,
  OpenAiError,
  PayloadTooLarge,
  ProviderContentPolicy,
  SignInError,
  StandardError,
  TopUpError,
} from './failures.ts'
import { type ErrorKind, type RetryAdvice, ServiceError } from './service-error.ts'

type AnswerHeaders = Readonly<Record<string, string>>

/** Every defined kind, in the order of the table's lines. */
const definedKinds: ErrorKind[] = []

/** Adds a kind to the table and returns a function that creates its error. */
function defineError<Schema extends z.ZodType>(kind: string, status: number, body: Schema, retry: RetryAdvice) {
  const defined: ErrorKind<Schema> = { kind, status, body, retry }
  definedKinds.push(defined)
  return (body: z.input<Schema>, headers?: AnswerHeaders) => new ServiceError(defined, body, headers)
}

/** `{error}` with a fixed sentence, which clients may match on. */
function defineStandard(kind: string, status: number, error: string, retry: RetryAdvice) {
  const make = defineError(kind, status, StandardError, retry)
  return (headers?: AnswerHeaders) => make({ error }, headers)
}

/** `{error, code}` with a fixed sentence, for cases that a program must tell from others with the same status. */
function defineCoded(kind: string, status: number, error: string, retry: RetryAdvice) {
  const make = defineError(kind, status, CodedError, retry)
  return (headers?: AnswerHeaders) => make({ error, code: kind }, headers)
}

/** The published sentence, which clients may match on, followed by details of this case. */
function defineExplained(kind: string, status: number, published: string, retry: RetryAdvice) {
  const make = defineError(kind, status, StandardError, retry)
  return (headers?: AnswerHeaders, more?: string) => make({ error: more ? `${published}${more}` : published }, headers)
}

/**
 * The published sentence, which clients may match on, followed by the rest of the budget and the amount that the call
 * would hold.
 */
function defineKeyLimit(kind: string, published: string) {
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

export const invalidRequest = defineError('INVALID_REQUEST', 400, DetailedError, 'after-change')
/** The published sentence; `details` says which image it is about and what is wrong with it. */
export const corruptedImage = defineError('CORRUPTED_IMAGE', 400, DetailedError, 'after-change')
export const imageTooSmall = defineError('IMAGE_TOO_SMALL', 400, DetailedError, 'after-change')
export const requestIdNotFound = defineStandard('REQUEST_ID_NOT_FOUND', 400, 'Request ID is invalid.', 'never')
export const paymentHeaderNotAccepted = defineError('PAYMENT_HEADER_NOT_ACCEPTED', 400, CodedError, 'after-change')
export const contextTooLong = defineError('TOO_MANY_TOKENS', 400, OpenAiError, 'after-change')

export const authenticationFailed = defineStandard(
  'AUTHENTICATION_FAILED',
  401,
  'Authentication failed',
  'after-sign-in',
)
/** The key is valid but may not do this. */
export const adminKeyRequired = defineStandard('ADMIN_KEY_REQUIRED', 401, 'Admin API key required', 'never')
export const invalidSignIn = defineError('X402_INVALID_SIGN_IN', 401, SignInError, 'after-sign-in')

export const insufficientBalance = defineExplained(
  'INSUFFICIENT_BALANCE',
  402,
  'Insufficient USD or Diem balance to complete request. Add credits to continue.',
  'after-top-up',
)
/** The account may still have credit, but this key's own limits are reached. */
export const keyStakingLimitReached = defineKeyLimit(
  'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED',
  'API key DIEM spend limit exceeded. Your account may still have DIEM balance, but this API key has reached its configured DIEM spending limit.',
)
export const keyUsdLimitReached = defineKeyLimit(
  'API_KEY_USD_SPEND_LIMIT_EXCEEDED',
  'API key USD spend limit exceeded. Your account may still have USD balance, but this API key has reached its configured USD spending limit.',
)
export const discoveryRequired = defineError('PAYMENT_DISCOVERY', 402, DiscoveryRequired, 'after-sign-in')
export const walletCreditRequired = defineError('PAYMENT_REQUIRED', 402, WalletCreditRequired, 'after-top-up')
export const topUpRequired = defineError('TOP_UP_REQUIRED', 402, TopUpRequired, 'after-top-up')

export const forbidden = defineStandard('UNAUTHORIZED', 403, 'Unauthorized access', 'never')
export const walletMismatch = defineStandard(
  'X402_WALLET_MISMATCH',
  403,
  'You can only access resources for your own wallet',
  'never',
)
/** The operator of the service suspended the account. Its balance, receipts, keys and finished files can still be read. */
export const accessDisabled = defineCoded(
  'API_ACCESS_DISABLED',
  403,
  'API access has been disabled for this account. Please contact the operator of this service; the balance, receipts and finished files of the account can still be read.',
  'never',
)
/** Keys with a budget are meant to be handed out, so such a key must not lock out its account. */
export const keyHasBudget = defineStandard(
  'API_KEY_HAS_BUDGET',
  403,
  'This API key has a budget, so it can change and delete only itself. Use an ADMIN key without a budget for other keys.',
  'never',
)

export const modelNotFound = defineExplained('MODEL_NOT_FOUND', 404, 'Specified model not found', 'after-change')
export const characterNotFound = defineStandard(
  'CHARACTER_NOT_FOUND',
  404,
  'No character could be found from the provided character_slug',
  'after-change',
)
export const mediaNotFound = defineStandard(
  'MEDIA_NOT_FOUND',
  404,
  'Media could not be found. Request may be invalid, expired, or deleted.',
  'never',
)
/** Also for another account's charge. Includes the date of the oldest receipts if the ledger was compacted. */
export const receiptNotFound = defineExplained(
  'RECEIPT_NOT_FOUND',
  404,
  'There is no receipt for this request. A receipt exists after a request has been charged.',
  'never',
)
/** Another account's key is reported as missing. */
export const keyNotFound = defineStandard(
  'API_KEY_NOT_FOUND',
  404,
  'This account has no such API key; GET /api_keys lists its keys.',
  'never',
)
export const routeNotFound = defineError('ROUTE_NOT_FOUND', 404, StandardError, 'after-change')
export const methodNotAllowed = defineError('METHOD_NOT_ALLOWED', 405, StandardError, 'after-change')

export const needsConsent = defineError('needs_consent', 409, NeedsConsent, 'after-consent')
export const keyInUse = defineError('IDEMPOTENCY_KEY_IN_USE', 409, CodedError, 'later')
/** The work was done and charged; only its answer cannot be returned again. */
export const answerNotKept = defineError('IDEMPOTENCY_ANSWER_NOT_KEPT', 409, CodedError, 'never')
export const modelGone = defineStandard(
  'MODEL_GONE',
  410,
  'This model was removed and has no replacement. Choose another from the list of models.',
  'after-change',
)
export const mediaGone = defineError('MEDIA_GONE', 410, StandardError, 'never')
export const payloadTooLarge = defineError('PAYLOAD_TOO_LARGE', 413, PayloadTooLarge, 'after-change')
/** For a download address; `content-range` gives the length of the file. */
export const rangeNotSatisfiable = defineError('RANGE_NOT_SATISFIABLE', 416, StandardError, 'after-change')
export const invalidContentType = defineStandard(
  'INVALID_CONTENT_TYPE',
  415,
  'Invalid request content-type',
  'after-change',
)
export const keyReused = defineError('IDEMPOTENCY_KEY_REUSED', 422, CodedError, 'after-change')
export const imageTooLarge = defineError('IMAGE_TOO_LARGE', 422, DetailedError, 'after-change')
export const contentViolation = defineError('CONTENT_POLICY_VIOLATION', 422, ContentViolation, 'after-change')
/** The result could not be checked, so it was neither returned nor charged. */
export const moderationFailed = defineStandard(
  'MODERATION_FAILED',
  503,
  'The content of this image could not be checked, and nothing was charged. Please try again later.',
  'later',
)
export const unreadableSpeech = defineStandard(
  'ASR_UPSTREAM_VALIDATION_FAILED',
  422,
  'The audio could not be processed for transcription. Common causes: zero-length, silent, corrupt, or unsupported-language audio. Please verify the file and retry.',
  'after-change',
)
export const providerContentPolicy = defineError('PROVIDER_CONTENT_POLICY', 422, ProviderContentPolicy, 'after-change')

/** Both begin with the published sentence, then name the video and what is allowed. */
export const videoTooLong = defineError('VIDEO_DURATION_TOO_LONG', 422, ContentViolation, 'after-change')
export const videoTooShort = defineError('VIDEO_DURATION_TOO_SHORT', 422, ContentViolation, 'after-change')

export const rateLimitExceeded = defineStandard('RATE_LIMIT_EXCEEDED', 429, 'Rate limit exceeded', 'later')
/** Both are for chain nodes, and use the published sentence of every limit. */
export const rpcCreditsUsed = defineStandard('RPC_CREDITS_USED', 429, 'Rate limit exceeded', 'later')
export const rpcInFlight = defineStandard('RPC_IN_FLIGHT', 429, 'Rate limit exceeded', 'later')
export const tooManyFailures = defineStandard(
  'FAILED_REQUESTS',
  429,
  'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.',
  'later',
)
export const tooManyConcurrent = defineError('X402_CONCURRENCY_LIMIT', 429, CodedError, 'later')
/** The account left so many calls before their answers that some of them must end first. */
export const tooManyUnread = defineError('TOO_MANY_UNREAD_CALLS', 429, CodedError, 'later')
/** Request bodies in flight take all the memory reserved for them, or one caller's share of it. */
export const bodiesFull = defineStandard(
  'BODIES_FULL',
  429,
  'Too many large requests are in flight at the moment; nothing was charged. Please try again in a few seconds.',
  'later',
)
export const modelOverloaded = defineStandard(
  'MODEL_OVERLOADED',
  429,
  'The model is currently overloaded. Please try again later.',
  'later',
)

export const inferenceFailed = defineStandard('INFERENCE_FAILED', 500, 'Inference processing failed', 'later')
export const upscaleFailed = defineStandard('UPSCALE_FAILED', 500, 'Image upscaling failed', 'later')
export const imageEditFailed = defineStandard('IMAGE_EDIT_ERROR', 500, 'Image edit failed', 'later')
export const unknownError = defineStandard('UNKNOWN_ERROR', 500, 'An unknown error occurred', 'later')
export const modelOffline = defineStandard(
  'MODEL_OFFLINE',
  503,
  'The model is temporarily offline. Please try again later.',
  'later',
)
export const modelAtCapacity = defineStandard(
  'MODEL_AT_CAPACITY',
  503,
  'The model is at capacity. Please try again later.',
  'later',
)
/** The service has not opened its ledger yet, and has not read the request. */
export const serviceStarting = defineStandard(
  'SERVICE_STARTING',
  503,
  'The service is starting. Please try again in a few seconds.',
  'later',
)
/** The operator of this service has configured no engine for it; retrying does not help. */
export const notSetUp = defineError('NOT_SET_UP', 503, StandardError, 'never')
export const searchFailed = defineStandard(
  'SEARCH_FAILED',
  500,
  'The web search failed, and nothing was charged. Please try again later.',
  'later',
)
/** Nothing was held or charged; calls that had already begun continue. */
export const ledgerReadOnly = defineStandard(
  'LEDGER_READ_ONLY',
  503,
  'Paid calls are paused while the ledger of this service is checked; nothing was charged. Please try again later.',
  'later',
)
/** The work was done, but the ledger did not confirm its charge. Repeating it may charge twice. */
export const chargeUnknown = defineCoded(
  'CHARGE_UNKNOWN',
  500,
  'The ledger of this service could not be reached when this call was charged, so it may or may not have been charged. Check the balance before you send it again.',
  'never',
)
/** Unlike with `CHARGE_UNKNOWN`, no charge is known to be in doubt. Clients still don't repeat paid calls. */
export const ledgerUnreachable = defineStandard(
  'LEDGER_UNREACHABLE',
  503,
  'The ledger of this service cannot be reached at the moment. Please try again in a few seconds.',
  'later',
)
export const requestTimeout = defineStandard(
  'REQUEST_TIMEOUT',
  504,
  'The request took too long to complete and was timed-out. For long-running inference requests, use the streaming API by setting `stream=true` in your request.',
  'later',
)

export const queryTimedOut = defineStandard(
  'QUERY_TIMED_OUT',
  504,
  'Query timed out - try reducing the lookback period',
  'after-change',
)

/** `details.reason` says which check failed; nothing was credited. */
export const invalidPayment = defineError('X402_INVALID_PAYMENT', 400, TopUpError, 'after-change')
/** Before anything was claimed or settled: the signed payment is not used. */
export const topUpDisabled = defineError('X402_ACCESS_DISABLED', 403, TopUpError, 'never')
/** The outcome is unknown or pending: only the same signed payload may be sent again, never a new one. */
export const settlementPending = defineError('X402_SETTLEMENT_PENDING', 500, TopUpError, 'same-payload')
export const topUpFailed = defineError('X402_TOP_UP_FAILED', 500, TopUpError, 'later')

/** The state of the payment is unknown, because the ledger is unreachable. */
export const topUpUnavailable = defineError('X402_TOP_UP_UNAVAILABLE', 503, TopUpError, 'same-payload')

/** Every kind above, for the description and the tests. */
export const errorKinds: readonly ErrorKind[] = definedKinds
