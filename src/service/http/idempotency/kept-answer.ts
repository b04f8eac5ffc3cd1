import { createHash } from 'node:crypto'
import { z } from 'zod'
import { keyReused } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { dayMs } from '#contract/time.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import * as known from '#contract/wire/headers.ts'
import { idempotencyKey } from '#contract/wire/headers.ts'
import { canonicalJson } from '#contract/wire/json.ts'
import { vendorHeader } from '#contract/wire/vendor.ts'
import type { Exchange } from '../exchange.ts'
import type { Service } from '../service.ts'
import type { Claims } from './claims.ts'

/** An answer as it is given again: these bytes, with the headers that belong to them. */
export interface KeptAnswer {
  status: number
  headers: [name: string, value: string][]
  body: Buffer
}

const Written = z.union([
  z.strictObject({ kept: z.literal(false) }),
  z.strictObject({
    status: z.number().int(),
    headers: z.array(z.tuple([z.string(), z.string()])),
    text: z.string().optional(),
    base64: z.string().optional(),
  }),
])

/** What was too large to be kept, or one of too many; the work is done all the same. */
export const notKept = JSON.stringify({ kept: false } satisfies z.input<typeof Written>)

/** What we print as JSON ourselves has no control characters, so that inside JSON text it doubles at most. */
const printed = /^(application\/json|text\/event-stream)(;|$)/

/** JSON text for the claim's row; bytes of any other kind are base64. */
export function writeAnswer({ status, headers, body }: KeptAnswer): string {
  if (body.byteLength > keptAnswerBytes) return notKept
  const type = headers.find(([name]) => name === known.contentType.name)?.[1] ?? ''
  const content = printed.test(type) ? { text: body.toString('utf8') } : { base64: body.toString('base64') }
  return JSON.stringify({ status, headers, ...content } satisfies z.input<typeof Written>)
}

/** Null for an answer that was not kept. Throws where the row holds no answer of ours. */
export function readAnswer(written: string): KeptAnswer | null {
  const answer = Written.parse(JSON.parse(written))
  if ('kept' in answer) return null
  const { status, headers, text, base64 } = answer
  const body = base64 === undefined ? Buffer.from(text ?? '', 'utf8') : Buffer.from(base64, 'base64')
  return { status, headers, body }
}

/** What is said of this moment or of this exchange, and so is said again. */
const ofTheMoment = [
  known.balanceDiem,
  known.balanceRemaining,
  known.balanceUsd,
  known.contentEncoding,
  known.date,
  known.hostName,
  known.idempotentReplayed,
  known.limitRequests,
  known.limitTokens,
  known.limitType,
  known.remainingRequests,
  known.remainingTokens,
  known.requestId,
  known.resetRequests,
  known.resetTokens,
  known.retryAfter,
  known.timestamp,
  known.version,
].map(codec => codec.name)

/** Headers that belong to an answer's bytes: its type, its model, what it cost. */
export function lastingHeaders(headers: Iterable<readonly [string, string]>, vendor: string): [string, string][] {
  const fresh = new Set(['content-length', ...ofTheMoment.map(name => vendorHeader(name, vendor))])
  return [...headers].flatMap(([name, value]) => (fresh.has(name) ? [] : [[name, value]]))
}

/** A request that may have a key, with what its work needs. */
export interface KeyedRequest {
  operation: Operation
  exchange: Exchange
  /** As it was parsed. */
  request: { params: unknown; query: unknown; body: unknown }
  /** Throws where a caller may begin no new work: too little credit, or too many calls left. */
  requireNewWork: () => void
  service: Pick<Service, 'store' | 'clock' | 'log' | 'settings' | 'guards' | 'receipts' | 'unread'> & { claims: Claims }
}

/** The key of a request; null where it has none. Throws `invalidRequest`. */
export function readKey(header: HeaderReader): string | null {
  const [first, ...others] = new Set(header(idempotencyKey.name))
  if (first === undefined) return null
  const key = others.length ? null : idempotencyKey.parse(first)
  if (key === null) throw wrongKey('send one value of 1 to 255 characters from A–Z, a–z, 0–9, "_" and "-"')
  return key
}

/** The id of a claim: a caller's key means something only to the account and the operation that it came with. */
export const claimId = (account: string, operation: Operation, key: string): string =>
  hash([account, operation.id, key])

/** Equal for equal requests, in whatever order their members were written; a file counts by its name, type and bytes. */
export const fingerprintOf = async ({ params, query, body }: KeyedRequest['request']): Promise<string> =>
  hash([params, query, await withoutFiles(body)])

/** Files are the fields of a form, or lie in a list of such a field. */
async function withoutFiles(value: unknown, depth = 2): Promise<unknown> {
  if (value instanceof File) {
    const sha256 = createHash('sha256')
      .update(new Uint8Array(await value.arrayBuffer()))
      .digest('hex')
    return { name: value.name, type: value.type, sha256 }
  }
  if (depth === 0 || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    return value.some(item => item instanceof File)
      ? Promise.all(value.map(item => withoutFiles(item, depth - 1)))
      : value
  }
  const members = Object.entries(value).map(async ([name, member]) => [name, await withoutFiles(member, depth - 1)])
  return Object.fromEntries(await Promise.all(members))
}

const hash = (parts: readonly unknown[]): string => createHash('sha256').update(canonicalJson(parts)).digest('hex')

const otherRequest = 'This key was used with a different request; use a new key for a new request.'

/** The same key with another request is a mistake of the caller, whatever became of the first. */
export const reusedKey = (operation: Operation): ServiceError =>
  operation.reusedKeyStatus === 400
    ? wrongKey(otherRequest)
    : keyReused({ error: otherRequest, code: 'IDEMPOTENCY_KEY_REUSED' })

const wrongKey = (message: string): ServiceError => fieldError(['Idempotency-Key'], message)

/** How long a claim outlives a process that died: as long as a hold does, so that both come free together. */
export const claimLeaseMs = 30_000

/** A live claim is renewed this often, so that two renewals may fail before it lapses. */
export const claimRenewalMs = 10_000

/**
 * The largest answer that is kept: a dozen images as base64. As JSON text inside JSON text it may double, and stays
 * within what one column may hold.
 */
export const keptAnswerBytes = 24 * 1024 * 1024

/**
 * Answers that are kept for one account within a day, in bytes: thirty images, or thousands of long texts. An answer
 * costs its caller by its tokens and us by its bytes, so without this a few dollars would fill a disk.
 */
export const keptBytesADay = 64 * 1024 * 1024
export const keptSpaceMs = dayMs

/** Answers up to this are always kept and not counted: it is 4,000 tokens, which cost more than the place they take. */
export const smallAnswerBytes = 16 * 1024

/** Accounts of whose answers the bytes are known; a busy service has fewer with large answers a day. */
export const keptAccounts = 10_000

/** Bytes of unfinished streams that one process keeps in memory; a stream beyond it is delivered and not kept. */
export const recordedBytes = 256 * 1024 * 1024

/**
 * When a caller whose key is in use should ask again. Every such answer counts as a failure, and more than 20 within 30 s
 * block the caller: asking every 2 s stays below.
 */
export const keyInUseRetryMs = 2_000

/** Looks at a claim that others are moving, before it is answered as one that is in use. */
export const claimAttempts = 5
