import {
  contentViolation,
  contextTooLong,
  inferenceFailed,
  invalidRequest,
  modelAtCapacity,
  modelOffline,
  modelOverloaded,
  requestTimeout,
} from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { blameless, type ServiceError } from '#contract/errors/service-error.ts'
import { isObject } from '#contract/wire/json.ts'
import { unreachable } from '#host/network.ts'

/** The longest wait from a server's Retry-After that we pass on to callers. */
const retryAfterSeconds = 3_600

interface Refusal {
  status: number
  retryAfter: string | undefined
  /** The answer's body, if it is an object. It is used to tell the kind of the error, and never passed on. */
  body: Record<string, unknown> | null
}

/** 498 is Groq's, 529 Anthropic's. */
const overloaded: ReadonlySet<number> = new Set([429, 498, 529])

/** How Hugging Face's servers say that a model failed while it generated. */
const failedGeneration = 424

/** Gemini and xAI answer 400 to a key. */
const refusedKey = /^(api key not valid|incorrect api key)/i

/** Returns our error for an unsuccessful answer of the engine. */
export function refusalError({ status, retryAfter, body }: Refusal, request: object): ServiceError {
  const wait = waitHeader(retryAfter)
  // OpenAI answers 429 to a bill that was not paid, too.
  if (status === 429 && detailsOf(body).code === 'insufficient_quota') return mayBeRequests(modelOffline())
  if (overloaded.has(status)) return modelOverloaded(wait)
  if (status === 503) return modelAtCapacity(wait)
  if (status === 408 || status === 504) return requestTimeout(wait)
  if (status >= 500 || status < 400 || status === failedGeneration) return inferenceFailed(wait)
  // The engine's key, bill or model name is the operator's concern, not the caller's; but a request may also have
  // caused the error.
  if ([401, 405, 407].includes(status) || refusedKey.test(detailsOf(body).message)) {
    return blameless(mayBeRequests(modelOffline()))
  }
  if ([402, 403, 404].includes(status)) return mayBeRequests(modelOffline())
  return requestError(body, request)
}

/** How servers say that a request does not fit into the context, if their code does not say it. */
const longContext = /context (length|size|window)|(prompt|input) is too long|input token count/i

function requestError(body: Record<string, unknown> | null, request: object): ServiceError {
  const { code, type, message, param } = detailsOf(body)
  const kind = `${code} ${type}`
  if (/context_length|exceed_context|context_window/.test(kind) || longContext.test(message)) return tooLong()
  if (/content_(filter|policy)|moderation/.test(kind)) {
    return contentViolation({ error: 'The model refused this content. Change the messages and try again.' })
  }
  const [member = ''] = /^\w+/.exec(param) ?? []
  if (Object.hasOwn(request, member)) return fieldError([member], 'The model does not accept this value')
  return invalidRequest({
    error: 'The model does not accept this request. Check its parameters against the model’s record.',
  })
}

/** Returns what an answer or event with status 200 reports as an error; undefined if it reports none. */
export function errorIn(value: Record<string, unknown>): unknown {
  const { error, object, choices } = value
  if (error && !choices) return error
  // vLLM has sent errors in streams without the object around them.
  if (object === 'error') return value
  // OpenRouter's, for a model that fails after it has begun.
  const failed = Array.isArray(choices) ? choices.find(choice => isObject(choice) && choice.error) : undefined
  return failed?.error
}

/** Returns our error for an event in a running stream that reports a failure. */
export function eventError(error: unknown, request: object): ServiceError {
  const { code, type } = detailsOf({ error })
  const status = Number(code)
  if (Number.isInteger(status) && status >= 400 && status < 600) {
    return refusalError({ status, retryAfter: undefined, body: { error } }, request)
  }
  return /overloaded|rate_limit/.test(`${code} ${type}`) ? modelOverloaded() : inferenceFailed()
}

/** The answer is larger than we accept. */
export class AnswerTooLarge extends Error {}

/** undici's codes for our own timeouts. */
const late = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** Returns our error for a connection that failed. */
export function transportError(error: unknown): ServiceError {
  const code = codeOf(error)
  if (error instanceof AnswerTooLarge) return cutByUs(inferenceFailed(), 'size')
  if (unreachable.has(code) || /CERT|TLS|SSL/.test(code)) return blameless(modelOffline())
  if (late.has(code) || (error instanceof Error && error.name === 'TimeoutError')) return cutByUs(requestTimeout())
  if (code === 'ETIMEDOUT') return requestTimeout()
  return inferenceFailed()
}

/** Returns a code of the system or client, which contains nothing of a request. */
export function codeOf(error: unknown): string {
  if (!isObject(error)) return ''
  if (typeof error.code === 'string') return error.code
  return error instanceof Error ? error.name : ''
}

function detailsOf(body: Record<string, unknown> | null) {
  const reported = body?.error
  // LM Studio writes only a sentence.
  const inWords = typeof reported === 'string' ? { message: reported } : {}
  const error: Record<string, unknown> = isObject(reported) ? reported : { ...body, ...inWords }
  const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
  return { code: text(error.code), type: text(error.type), message: text(error.message), param: text(error.param) }
}

const tooLong = () =>
  contextTooLong({
    error: {
      message: 'The messages are longer than this model’s context. Shorten them or request fewer tokens.',
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  })

/** Parses either form of the header as whole seconds. */
function waitHeader(value: string | undefined): Record<string, string> | undefined {
  if (value === undefined) return undefined
  const seconds = /^\d{1,9}(\.\d+)?$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  if (!Number.isFinite(seconds)) return undefined
  return { 'retry-after': String(Math.min(retryAfterSeconds, Math.max(1, Math.ceil(seconds)))) }
}

const made = new WeakSet<Error>()

/**
 * Marks an error that a request may have caused although it is reported as the upstream's own: some servers answer 403
 * to content, 402 to a long requested answer, and 404 to a member's value.
 */
function mayBeRequests<Thrown extends Error>(error: Thrown): Thrown {
  made.add(error)
  return error
}

export const isMaybeRequests = (error: Error): boolean => made.has(error)

/** The answer came too late, or was larger than we accept. */
type OwnBound = 'time' | 'size'

const cut = new WeakMap<Error, OwnBound>()

/**
 * Marks an error that one of our limits caused: the engine may have been working until then. Callers choose such
 * requests, so they are charged for what was generated, as if they had left.
 */
export function cutByUs<Thrown extends Error>(error: Thrown, bound: OwnBound = 'time'): Thrown {
  cut.set(error, bound)
  return error
}

/** Returns which of our limits it was; null if the engine itself failed. */
export const ownBoundOf = (error: unknown): OwnBound | null =>
  error instanceof Error ? (cut.get(error) ?? null) : null
