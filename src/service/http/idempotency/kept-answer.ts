import { z } from 'zod'
import * as known from '#contract/wire/headers.ts'
import { vendorHeader } from '#contract/wire/vendor.ts'
import { keptAnswerBytes } from './bounds.ts'

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

/** What is said of this moment or of this exchange, and so is said anew. */
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
