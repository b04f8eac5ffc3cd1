import { isObject } from '#contract/wire/json.ts'
import { reasonCharacters, refusedArguments, saidCharacters } from '#toolkit/bounds.ts'
import type { RefusedValue } from '#toolkit/tool-failure.ts'
import { withoutHidden } from '#toolkit/values/untrusted.ts'

/** What a service's error means to the caller, and the next step, by kind. */
export const serviceWords: Readonly<Record<string, readonly [string, string]>> = {
  REQUEST_ID_NOT_FOUND: ['The service has no job with this id.', 'Check job_list.'],
  TOO_MANY_TOKENS: [
    'The prompt is longer than the model’s context.',
    'Shorten it, or choose a model with a larger context.',
  ],
  PAYMENT_HEADER_NOT_ACCEPTED: [
    'The service refused a payment header.',
    'Report this problem; the arguments did not cause it.',
  ],
  AUTHENTICATION_FAILED: [
    'The service did not accept the API key or sign-in.',
    'Ask the user to check FAREBOX_API_KEY and the clock of this machine.',
  ],
  X402_INVALID_SIGN_IN: [
    'The service did not accept the wallet’s sign-in.',
    'Ask the user to check the clock of this machine and FAREBOX_BASE_URL.',
  ],
  PAYMENT_DISCOVERY: [
    'The service did not receive a valid credential.',
    'Ask the user to check FAREBOX_API_KEY or the wallet.',
  ],
  ADMIN_KEY_REQUIRED: [
    'This call needs an ADMIN API key, and the configured key is not one.',
    'Ask the user to create one (for their own service with `farebox keys create --admin --usd 0 --account ID`, elsewhere on the service’s page for API keys), and to start this server with it in FAREBOX_API_KEY.',
  ],
  UNAUTHORIZED: ['The service does not permit this request.', 'Try another way, such as another model.'],
  API_ACCESS_DISABLED: [
    'The service’s operator has disabled API access for this account.',
    'Ask the user to contact the operator. Retrying or topping up does not help.',
  ],
  X402_ACCESS_DISABLED: [
    'The service’s operator has disabled API access for this account; nothing was taken.',
    'Ask the user to contact the operator. Do not top up again.',
  ],
  X402_WALLET_MISMATCH: ['This belongs to another wallet.', 'Check wallet_status.'],
  MODEL_NOT_FOUND: ['The service has no model with this id.', 'models_find shows the ids.'],
  MODEL_GONE: ['The service has removed this model.', 'Choose another one with models_find.'],
  CHARACTER_NOT_FOUND: ['The service has no character with this slug.', 'characters_find shows the slugs.'],
  NOT_SET_UP: [
    'This service does not offer this feature.',
    'Do it another way. Trying again does not help, because only the service’s operator can enable it.',
  ],
  IMAGE_TOO_LARGE: [
    'The image, or the result made from it, is too large.',
    'Give a smaller image, or ask for a smaller result.',
  ],
  VIDEO_DURATION_TOO_LONG: ['The video is too long.', 'Give a shorter video.'],
  VIDEO_DURATION_TOO_SHORT: ['The video is too short.', 'Give a longer video.'],
  ASR_UPSTREAM_VALIDATION_FAILED: [
    'The recording cannot be transcribed: it is silent, damaged, or in a language that the model does not support.',
    'Give another recording.',
  ],
  MEDIA_NOT_FOUND: [
    'The file does not exist: it has expired, was deleted or never existed.',
    'Start a new job if you still need it.',
  ],
  MEDIA_GONE: [
    'The file is no longer available: its link has expired, was used or was revoked.',
    'Start a new job if you still need it.',
  ],
  RECEIPT_NOT_FOUND: [
    'The service has no receipt for this request.',
    'It may not have been charged yet; check wallet_receipts.',
  ],
  ROUTE_NOT_FOUND: ['The service has nothing at this address.', 'Ask the user to check FAREBOX_BASE_URL.'],
  INVALID_CONTENT_TYPE: ['The service does not accept a file of this type.', 'Give a file of another type.'],
  PAYLOAD_TOO_LARGE: ['The request is larger than the service accepts.', 'Send smaller or fewer files.'],
  CONTENT_POLICY_VIOLATION: ["The request violates the service's content policy.", 'Change the request.'],
  PROVIDER_CONTENT_POLICY: ["The model provider's content policy refused the request.", 'Change the request.'],
  RATE_LIMIT_EXCEEDED: ['The rate limit has been reached.', 'Try again when the limit resets; `limits` shows when.'],
  FAILED_REQUESTS: [
    'The service has blocked this caller for a while, because too many requests failed.',
    'Fix the cause of the failures, then try again.',
  ],
  X402_CONCURRENCY_LIMIT: ['Too many requests from this wallet are in flight.', 'Wait until they end, then try again.'],
  TOO_MANY_UNREAD_CALLS: [
    'Too many calls from this account are still running after their callers disconnected.',
    'Wait a few seconds, then try again.',
  ],
  BODIES_FULL: ['Too many large requests are in flight.', 'Try again later, with fewer at the same time.'],
  MODEL_OVERLOADED: ['The model is overloaded.', 'Try again later, or choose another model.'],
  MODEL_OFFLINE: ['The model is offline.', 'Try again later, or choose another model.'],
  MODEL_AT_CAPACITY: ['The model is at capacity.', 'Try again later, or choose another model.'],
  INFERENCE_FAILED: ['The model failed on this request.', 'Try again, or choose another model.'],
  MODERATION_FAILED: ['The service could not check the content of the image.', 'Try again later.'],
  SEARCH_FAILED: ['The search failed.', 'Try again later.'],
  UPSCALE_FAILED: ['The image could not be upscaled.', 'Try again later, or give another image.'],
  IMAGE_EDIT_ERROR: ['The image could not be edited.', 'Try again later, or give another image.'],
  QUERY_TIMED_OUT: ['The report took too long.', 'Ask for fewer days.'],
  UNKNOWN_ERROR: ['The service had an internal error.', 'Try again later.'],
  CHARGE_UNKNOWN: [
    'The service did the work, but could not reach its ledger to charge for it.',
    'Check in wallet_status whether the credit went down; `again: true` buys it again.',
  ],
  IDEMPOTENCY_ANSWER_NOT_KEPT: [
    'The service did the work, but its answer was lost and not kept.',
    'Check in wallet_status whether the credit went down; `again: true` buys it again.',
  ],
  IDEMPOTENCY_KEY_REUSED: [
    'The service already has a different request with this call’s idempotency key.',
    'Check in wallet_status whether the credit went down; `again: true` buys it again.',
  ],
  LEDGER_UNREACHABLE: [
    'The service cannot reach its ledger.',
    'Wait a minute, then check in wallet_status whether the credit went down; `again: true` makes the call again.',
  ],
  LEDGER_READ_ONLY: [
    'The service is checking its ledger and accepts no paid calls until that is done.',
    'Try again later.',
  ],
  REQUEST_TIMEOUT: ['The model took too long.', 'Ask for less, or choose a faster model.'],
}

/** The text of an unsuccessful answer: one or two sentences, and which of the request's members they are about. */
interface SaidByService {
  said: string
  refused: RefusedValue[]
}

/**
 * Parses a refusal in any shape: ours (`error`, `details`, `issues`, `suggested_prompt`), that of OpenAI's services
 * (`error.message`, `error.param`), lists of places (`detail`, `errors`), a plain text, a page. All of it is untrusted
 * text, limited in length and without invisible characters.
 */
export function saidByService(body: unknown): SaidByService {
  if (typeof body === 'string') return { said: bounded(textOfPage(body), saidCharacters), refused: [] }
  if (!isObject(body)) return { said: '', refused: [] }
  const refused = refusedIn(body).slice(0, refusedArguments)
  const sentences = sentencesIn(body).filter(sentence => !(refused.length > 0 && saysNothing.test(sentence)))
  return { said: bounded([...new Set(sentences)].join(' '), saidCharacters), refused }
}

/** A sentence that adds nothing to the reasons listed with it. */
const saysNothing = /^(?:invalid request(?: parameters)?|validation (?:error|failed)|bad request)\.?$/i

function sentencesIn(body: Fields): string[] {
  const { error, message, detail, title, suggested_prompt: suggested } = body
  const said = isObject(error)
    ? [error.message, error.recommended_model && `Recommended: ${error.recommended_model}`]
    : [error]
  const sentences = [...said, message, title, detail].filter(
    text => typeof text === 'string' && text !== '',
  ) as string[]
  return typeof suggested === 'string' ? [...sentences, `Suggested prompt: ${suggested}`] : sentences
}

function refusedIn(body: Fields): RefusedValue[] {
  const { issues, details, detail, errors, error } = body
  for (const list of [issues, detail, errors]) {
    const found = Array.isArray(list) ? list.slice(0, refusedArguments).flatMap(issueOf) : []
    if (found.length > 0) return found
  }
  if (isObject(details)) return detailsOf(details, [])
  // The sentence is already included.
  return isObject(error) && typeof error.param === 'string' ? named([error.param], '') : []
}

/** `{path, message}`, or `{loc: ['body', …], msg}`. */
function issueOf(issue: unknown): RefusedValue[] {
  if (!isObject(issue)) return []
  const { path, loc, message, msg, param, field } = issue
  const [given] = [path, loc, param, field].filter(place => place !== undefined)
  const places = Array.isArray(given) ? given : [given]
  const inBody = Array.isArray(loc) && placesOfRequests.has(String(places[0])) ? places.slice(1) : places
  const reason = [message, msg].find(text => typeof text === 'string')
  return named(inBody.map(String), typeof reason === 'string' ? reason : '')
}

const placesOfRequests: ReadonlySet<string> = new Set(['body', 'query', 'path', 'header'])

/** A tree by members, with sentences under `_errors`. */
function detailsOf(level: Fields, path: readonly string[]): RefusedValue[] {
  if (path.length > deepest) return []
  const { _errors: errors, ...members } = level
  const own =
    path.length > 0 && Array.isArray(errors) && errors.length > 0 ? named(path, errors.map(String).join('; ')) : []
  const inner = Object.entries(members).flatMap(([name, member]) => {
    if (isObject(member)) return detailsOf(member, [...path, name])
    const isList = Array.isArray(member) && member.every(text => typeof text === 'string')
    return isList ? named([...path, name], member.join('; ')) : []
  })
  return [...own, ...inner]
}

/** Requests of tools nest less. */
const deepest = 8

/** A name that is not a member of the request is not an argument; its text is kept without the name. */
function named(path: readonly string[], reason: string): RefusedValue[] {
  const name = path.join('.')
  return memberName.test(name) ? [{ name, reason: bounded(reason, reasonCharacters) }] : []
}

const memberName = /^[a-z][a-zA-Z0-9_]{0,39}(?:\.[a-zA-Z0-9_]{1,40}){0,8}$/

/** How much of a page is read: the patterns below are quadratic, and a service may send megabytes. */
const pageCharacters = 16_384

/** Returns the text of a page: its title if it has one. */
function textOfPage(whole: string): string {
  const text = whole.slice(0, pageCharacters)
  if (!/<(?:!doctype|html|head|body|title)\b/i.test(text)) return text
  const title = /<title[^<>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
  return title || text.replaceAll(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ').replaceAll(/<[^<>]*>/g, ' ')
}

const bounded = (text: string, characters: number): string => {
  const line = withoutHidden(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > characters ? `${line.slice(0, characters).toWellFormed()}…` : line
}

type Fields = Record<string, unknown>
