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

/** An answer as it is replayed: these bytes, with the headers that belong to them. */
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

/** Stands for an answer that was too large, or one of too many; the work is done anyway. */
export const notKept = JSON.stringify({ kept: false } satisfies z.input<typeof Written>)

/** JSON that we print ourselves has no control characters, so inside JSON text it at most doubles. */
const printed = /^(application\/json|text\/event-stream)(;|$)/

/** Writes JSON text for the claim's row; bytes of any other kind are base64. */
export function writeAnswer({ status, headers, body }: KeptAnswer): string {
  if (body.byteLength > keptAnswerBytes) return notKept
  const type = headers.find(([name]) => name === known.contentType.name)?.[1] ?? ''
  const content = printed.test(type) ? { text: body.toString('utf8') } : { base64: body.toString('base64') }
  return JSON.stringify({ status, headers, ...content } satisfies z.input<typeof Written>)
}

/** Returns null for an answer that was not kept. Throws if the row does not contain one of our answers. */
export function readAnswer(written: string): KeptAnswer | null {
  const answer = Written.parse(JSON.parse(written))
  if ('kept' in answer) return null
  const { status, headers, text, base64 } = answer
  const body = base64 === undefined ? Buffer.from(text ?? '', 'utf8') : Buffer.from(base64, 'base64')
  return { status, headers, body }
}

/** Headers about the moment or the exchange, which are set newly. */
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

/** Returns the headers that belong to an answer's bytes: its type, model and cost. */
export function lastingHeaders(headers: Iterable<readonly [string, string]>, vendor: string): [string, string][] {
  const fresh = new Set(['content-length', ...ofTheMoment.map(name => vendorHeader(name, vendor))])
  return [...headers].flatMap(([name, value]) => (fresh.has(name) ? [] : [[name, value]]))
}

/** A request that may have a key, with what its work needs. */
export interface KeyedRequest {
  operation: Operation
  exchange: Exchange
  /** As parsed. */
  request: { params: unknown; query: unknown; body: unknown }
  /** Throws if the caller may not start new work: too little credit, or too many calls left. */
  requireNewWork: () => void
  service: Pick<Service, 'store' | 'clock' | 'log' | 'settings' | 'guards' | 'receipts' | 'unread'> & { claims: Claims }
}

/** Returns the key of a request; null if it has none. Throws `invalidRequest`. */
export function readKey(header: HeaderReader): string | null {
  const [first, ...others] = new Set(header(idempotencyKey.name))
  if (first === undefined) return null
  const key = others.length ? null : idempotencyKey.parse(first)
  if (key === null) throw wrongKey('send one value of 1 to 255 characters from A–Z, a–z, 0–9, "_" and "-"')
  return key
}

/** Returns the id of a claim: a caller's key is only valid for the account and operation that it came with. */
export const claimId = (account: string, operation: Operation, key: string): string =>
  hash([account, operation.id, key])

/**
 * Returns a hash that is equal for equal requests, in any order of members; a file counts by its name, type and bytes.
 */
export const fingerprintOf = async ({ params, query, body }: KeyedRequest['request']): Promise<string> =>
  hash([params, query, await withoutFiles(body)])

/** A file is the value of a form's field, or is in the list that is its value. */
async function withoutFiles(body: unknown): Promise<unknown> {
  if (typeof body !== 'object' || body === null) return body
  // Few bodies have one, and a promise for each member of the others would cost more than their hash.
  if (!Object.values(body).flat().some(isFile)) return body
  const members = Object.entries(body).map(async ([name, value]) => [
    name,
    Array.isArray(value) ? await Promise.all(value.map(described)) : await described(value),
  ])
  return Object.fromEntries(await Promise.all(members))
}

const isFile = (value: unknown): value is File => value instanceof File

async function described(value: unknown): Promise<unknown> {
  if (!isFile(value)) return value
  const sha256 = createHash('sha256')
    .update(new Uint8Array(await value.arrayBuffer()))
    .digest('hex')
  return { name: value.name, type: value.type, sha256 }
}

const hash = (parts: readonly unknown[]): string => createHash('sha256').update(canonicalJson(parts)).digest('hex')

const otherRequest = 'This key was used with a different request; use a new key for a new request.'

/** Using a key for a different request is the caller's mistake, whatever happened to the first one. */
export const reusedKey = (operation: Operation): ServiceError =>
  operation.reusedKeyStatus === 400
    ? wrongKey(otherRequest)
    : keyReused({ error: otherRequest, code: 'IDEMPOTENCY_KEY_REUSED' })

const wrongKey = (message: string): ServiceError => fieldError(['Idempotency-Key'], message)

/** How long a claim outlives a process that died: as long as a hold, so that both become free together. */
export const claimLeaseMs = 30_000

/** How often a live claim is renewed, so that two renewals may fail before it lapses. */
export const claimRenewalMs = 10_000

/**
 * The largest answer to keep: a dozen images as base64. Inside JSON text it may double, which still fits into one
 * column.
 */
export const keptAnswerBytes = 24 * 1024 * 1024

/**
 * Bytes of answers to keep per account and day: thirty images, or thousands of long texts. Callers pay for an answer by
 * tokens but it costs us bytes, so without this limit a few dollars would fill a disk.
 */
export const keptBytesADay = 64 * 1024 * 1024
export const keptSpaceMs = dayMs

/** Answers up to this size are always kept and not counted: 4,000 tokens, which cost more than the space. */
export const smallAnswerBytes = 16 * 1024

/** Accounts whose bytes are tracked; even a busy service has fewer with large answers per day. */
export const keptAccounts = 10_000

/** Bytes of unfinished streams that one process keeps in memory; a stream beyond that is delivered but not kept. */
export const recordedBytes = 256 * 1024 * 1024

/**
 * Retry delay while a key is in use. Every such answer counts as a failure, and more than 20 within 30 s block the
 * caller; retrying every 2 s stays below that.
 */
export const keyInUseRetryMs = 2_000

/** How often a claim that others are changing is reread before it counts as in use. */
export const claimAttempts = 5
