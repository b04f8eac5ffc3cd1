import { z } from 'zod'
import { errorKinds } from '#contract/errors/errors.ts'
import { type ErrorKind, type RetryAdvice, ServiceError } from '#contract/errors/service-error.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operations/operation.ts'
import {
  balanceRemaining,
  balanceUsd,
  idempotentReplayed,
  isBlurred,
  modelId,
  ownRequestId,
  paidOncePerKey,
  receipt,
  requestId,
} from '#contract/wire/headers.ts'
import { fromVendor, vendorHeader } from '#contract/wire/vendor.ts'
import { type LimitWindow, limitWindow } from '../pace/limiter.ts'

/**
 * Turns an unsuccessful answer back into the error that the service sent. Its text stays in `body`, never in a message.
 */
export function readError(
  operation: Operation | null,
  answer: { status: number; body: unknown; headers: Headers },
  vendor: string,
): ServiceError {
  const body = fromVendor(answer.body, vendor)
  const kind = kindOf(operation, answer.status, body)
  // The body of a known kind has only its schema's members.
  return new ServiceError(kind, readLeniently(kind.body, body), Object.fromEntries(answer.headers))
}

function kindOf(operation: Operation | null, status: number, body: unknown): ErrorKind {
  const text = textsOf(body)
  // Brief §7.3 fixes the wording of the block but not its status.
  if (text.some(word => blockWords.test(word))) return named('FAILED_REQUESTS') ?? unknownKind(status)
  const candidates = errorKinds.filter(
    kind => kind.status === status && isOf(operation, kind) && (kind.kind !== 'TOO_MANY_TOKENS' || isTooLong(body)),
  )
  const names = text.map(word => fixedSentences.get(word) ?? keyLimitOf(word) ?? openSentenceOf(word) ?? word)
  const found =
    candidates.find(kind => names.includes(kind.kind) && fits(kind, body)) ??
    candidates.find(kind => ownShapes.has(kind.kind) && fits(kind, body)) ??
    candidates.find(kind => kind.kind === byStatus[status] && fits(kind, body))
  return found ?? unknownKind(status)
}

const blockWords = /^too many failed attempts/i

/** Fixed sentences in `{error}` that distinguish kinds with the same status. */
const fixedSentences: ReadonlyMap<string, string> = new Map([
  ['Request ID is invalid.', 'REQUEST_ID_NOT_FOUND'],
  ['Admin API key required', 'ADMIN_KEY_REQUIRED'],
  ['No character could be found from the provided character_slug', 'CHARACTER_NOT_FOUND'],
  ['This model was removed and has no replacement. Choose another from the list of models.', 'MODEL_GONE'],
  ['Media could not be found. Request may be invalid, expired, or deleted.', 'MEDIA_NOT_FOUND'],
  ['There is no receipt for this request. A receipt exists after a request has been charged.', 'RECEIPT_NOT_FOUND'],
  ['You can only access resources for your own wallet', 'X402_WALLET_MISMATCH'],
  [
    'Too many large requests are in flight at the moment; nothing was charged. Please try again in a few seconds.',
    'BODIES_FULL',
  ],
  ['The model is currently overloaded. Please try again later.', 'MODEL_OVERLOADED'],
  ['Inference processing failed', 'INFERENCE_FAILED'],
  [
    'The content of this image could not be checked, and nothing was charged. Please try again later.',
    'MODERATION_FAILED',
  ],
  ['The model is at capacity. Please try again later.', 'MODEL_AT_CAPACITY'],
  [
    'Paid calls are paused while the ledger of this service is checked; nothing was charged. Please try again later.',
    'LEDGER_READ_ONLY',
  ],
  [
    'The ledger of this service could not be reached when this call was charged, so it may or may not have been charged. Check the balance before you send it again.',
    'CHARGE_UNKNOWN',
  ],
  [
    'The ledger of this service cannot be reached at the moment. Please try again in a few seconds.',
    'LEDGER_UNREACHABLE',
  ],
])

/**
 * A top-up would not help here, so these must not be read as too little credit. The remaining budget follows the
 * sentence.
 */
const keyLimitOf = (word: string): string | undefined => {
  const currency = /^API key (DIEM|USD) spend limit exceeded\./.exec(word)?.[1]
  return currency && `API_KEY_${currency}_SPEND_LIMIT_EXCEEDED`
}

/** Sentences with variable text: which models exist, which video it is, what is not configured. */
const openSentences: readonly (readonly [RegExp, string])[] = [
  [/^Specified model not found/, 'MODEL_NOT_FOUND'],
  [/\bis not set up on this service\b|^This service .*\bask its operator to enable\b/, 'NOT_SET_UP'],
  [/^The audio could not be processed for transcription\b/, 'ASR_UPSTREAM_VALIDATION_FAILED'],
  [/^Image dimensions exceed the maximum allowed\b/, 'IMAGE_TOO_LARGE'],
  [/^Video duration exceeds the maximum allowed\b/, 'VIDEO_DURATION_TOO_LONG'],
  [/^Video duration is too short\b/, 'VIDEO_DURATION_TOO_SHORT'],
]

const openSentenceOf = (word: string): string | undefined => openSentences.find(([words]) => words.test(word))?.[1]

/** OpenAI's error shape carries every fault of a request, not just a context that is too small. */
function isTooLong(body: unknown): boolean {
  const { error } = (body ?? {}) as { error?: { code?: unknown; message?: unknown } }
  return [error?.code, error?.message].some(word => typeof word === 'string' && tooLongWords.test(word))
}

const tooLongWords = /context[_ ](?:length|window)|maximum context|too[_ ]many[_ ]tokens|'s context/i

/** Kinds whose body differs from all others with their status. */
const ownShapes: ReadonlySet<string> = new Set([
  'TOO_MANY_TOKENS',
  'X402_INVALID_SIGN_IN',
  'X402_INVALID_PAYMENT',
  'TOP_UP_REQUIRED',
  'PAYMENT_DISCOVERY',
  'PAYMENT_REQUIRED',
  'needs_consent',
  'PROVIDER_CONTENT_POLICY',
  'X402_TOP_UP_FAILED',
])

/** What a status means if the body only has a sentence. */
const byStatus: Readonly<Record<number, string>> = {
  400: 'INVALID_REQUEST',
  401: 'AUTHENTICATION_FAILED',
  402: 'INSUFFICIENT_BALANCE',
  403: 'UNAUTHORIZED',
  404: 'ROUTE_NOT_FOUND',
  410: 'MEDIA_GONE',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'INVALID_CONTENT_TYPE',
  422: 'CONTENT_POLICY_VIOLATION',
  429: 'RATE_LIMIT_EXCEEDED',
  500: 'UNKNOWN_ERROR',
  503: 'MODEL_OFFLINE',
  504: 'REQUEST_TIMEOUT',
}

const topUpKinds: ReadonlySet<string> = new Set([
  'TOP_UP_REQUIRED',
  'X402_INVALID_PAYMENT',
  'X402_SETTLEMENT_PENDING',
  'X402_TOP_UP_FAILED',
  'X402_TOP_UP_UNAVAILABLE',
])

/** Only a top-up answers with top-up errors. */
const isOf = (operation: Operation | null, { kind }: ErrorKind): boolean =>
  !topUpKinds.has(kind) || operation === null || operation.charge === 'payment'

const named = (name: string): ErrorKind | undefined => errorKinds.find(kind => kind.kind === name)

const fits = (kind: ErrorKind, body: unknown): boolean => readLeniently(kind.body, structuredClone(body)) !== null

const Texts = z.looseObject({
  error: z.union([z.string(), z.looseObject({ code: z.string().nullish() })]),
  code: z.string().optional(),
})

function textsOf(body: unknown): string[] {
  const read = Texts.safeParse(body)
  if (!read.success) return []
  const { error, code } = read.data
  return [code, typeof error === 'string' ? error : error.code].filter(text => typeof text === 'string')
}

/** An unknown body: from a proxy or a newer service. */
const unknownKind = (status: number): ErrorKind => ({
  kind: 'UNKNOWN_ANSWER',
  status,
  body: z.unknown(),
  retry: adviceOf(status),
})

function adviceOf(status: number): RetryAdvice {
  if (status === 401) return 'after-sign-in'
  if (status === 402) return 'after-top-up'
  if (status === 429 || status >= 500) return 'later'
  return status === 403 || status === 404 || status === 410 ? 'never' : 'after-change'
}

type Issue = z.core.$ZodIssue

/** Maximum rounds of removing members; far more than our schemas nest. */
const rounds = 16

/**
 * Parses an answer from a service that may send more than we know: removes members that a strict schema does not name.
 * Null if it does not fit even then. Changes `value`.
 */
export function readLeniently<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> | null {
  for (let round = 0; round < rounds; round++) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    const unknown = parsed.error.issues.map(issue => unknownMembers(issue, []))
    if (!unknown.every(found => found !== null)) return null
    for (const { path, keys } of unknown.flat()) remove(value, path, keys)
  }
  return null
}

interface Unknown {
  path: PropertyKey[]
  keys: readonly string[]
}

/**
 * Returns the unknown members if they are the only problem, otherwise null. For a union, uses the first branch that
 * would fit.
 */
function unknownMembers(issue: Issue, before: readonly PropertyKey[]): Unknown[] | null {
  const path = [...before, ...issue.path]
  if (issue.code === 'unrecognized_keys') return [{ path, keys: issue.keys }]
  if (issue.code !== 'invalid_union') return null
  for (const branch of issue.errors) {
    const found = branch.map(inner => unknownMembers(inner, path))
    if (found.length > 0 && found.every(each => each !== null)) return found.flat()
  }
  return null
}

function remove(value: unknown, path: readonly PropertyKey[], keys: readonly string[]): void {
  const holder = path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
  if (typeof holder !== 'object' || holder === null) return
  for (const key of keys) Reflect.deleteProperty(holder, key)
}

/** The values of an answer's headers; null for missing ones. */
export interface AnswerHeaders {
  requestId: string | null
  model: string | null
  /** A wallet's credit after this call. */
  balanceRemaining: MicroUsd | null
  /** Credit before this call. */
  balanceBefore: MicroUsd | null
  window: LimitWindow | null
  /** The signed receipt of the charge, if the answer has one. */
  receipt: string | null
  /** This is the answer to an earlier request with the same key. */
  isReplayed: boolean
  /** The service's content policy blurred an image. */
  isBlurred: boolean
  /** The service runs paid work once per `Idempotency-Key`. */
  takesKeys: boolean
}

export function answerHeaders(headers: Headers, nowMs: number): AnswerHeaders {
  const read = <Value>(codec: { name: string; parse(text: string): Value | null }): Value | null => {
    const text = headers.get(codec.name)
    return text === null ? null : codec.parse(text)
  }
  return {
    requestId: read(ownRequestId) ?? read(requestId),
    model: read(modelId),
    balanceRemaining: read(balanceRemaining),
    balanceBefore: read(balanceUsd),
    window: limitWindow(headers, nowMs),
    receipt: read(receipt),
    isReplayed: read(idempotentReplayed) === true,
    isBlurred: read(isBlurred) === true,
    takesKeys: read(paidOncePerKey) === true,
  }
}

export function inOurWords(headers: Headers, vendor: string): Headers {
  const ours = new Headers()
  const theirs = vendorHeader('x-service-', vendor)
  for (const [name, value] of headers) ours.append(name.replace(new RegExp(`^${theirs}`), 'x-service-'), value)
  return ours
}
