import { ClientError } from '#client/client-error.ts'
import { principalOf } from '#client/credential.ts'
import { zeroUsd } from '#contract/money.ts'
import { bodyTypesOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { percentDecoded } from '#contract/wire/json.ts'
import { fromVendor } from '#contract/wire/vendor.ts'
import { allowCall } from '#wallet/approvals/allow-call.ts'
import { newId } from '#wallet/ids.ts'
import { type AskedAbout, named } from '#wallet/terms/about-call.ts'
import { shownIdCharacters } from '../bounds.ts'
import { askedAbout, requestHash } from '../calls/about-request.ts'
import { consentBefore, shownMedia } from '../calls/consent.ts'
import type { AgentContext } from '../context.ts'
import type { ModelRecords } from '../prices/model-records.ts'
import { priceCall } from '../prices/price-call.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import type { UnpricedCalls } from '../settings/agent-options.ts'
import type { ProgramRequest } from './caller-request.ts'

/** A request that may be sent; `attempt` identifies it to the approval that it may have used up. */
export interface AllowedRequest {
  attempt: string
  operation: Operation | null
  price: PricedCall | null
  /** The hash that the user's decision applies to. */
  hash: string
  /** What the user sees about it. */
  about: AskedAbout
}

/**
 * Prices what a program is about to send and checks it against the caps of a call, like a tool's call. Throws the
 * wallet's refusal or request for approval, or the service's answer to a call that it would not accept.
 */
export async function allowRequest(
  agent: AgentContext,
  models: ModelRecords,
  request: ProgramRequest,
  unpriced: UnpricedCalls,
): Promise<AllowedRequest> {
  const attempt = newId('req')
  const operation = operationOf(agent.client.address.baseUrl, request.method, request.url)
  const body = request.isForm ? request.read : fromVendor(request.read, agent.client.vendor)
  const allowed = { attempt, operation, hash: hashOf(agent, request, operation, body) }
  if (isFree(operation, request.method)) return { ...allowed, price: null, about: askedAbout(body, null, zeroUsd) }
  if (operation?.request.body && !readsAs(operation, request, body)) throw unreadable(operation)
  if (!operation) refuseMisspelt(agent, request)
  const price = operation ? await priceCall(agent.client, models, operation, body) : unknownPrice(request)
  const about = askedAbout(body, null, price.amountMicroUsd)
  const mayBeUnpriced = unpriced === 'allow' && price.amountMicroUsd === null
  await allowCall(
    agent,
    {
      what: price.what,
      quotedMicroUsd: mayBeUnpriced ? zeroUsd : price.amountMicroUsd,
      operation: operation?.id ?? null,
      about,
    },
    { requestHash: allowed.hash, by: attempt },
  )
  await consentOf(agent, allowed, body, about)
  return { ...allowed, price, about }
}

/** A consent written in the program's own code counts; the caller has removed those that may not count. */
async function consentOf(
  agent: AgentContext,
  { attempt, operation, hash }: Pick<AllowedRequest, 'attempt' | 'operation' | 'hash'>,
  body: unknown,
  about: AskedAbout,
): Promise<void> {
  const media = shownMedia(operation, body)
  if (media.length === 0 || (body as { consents?: unknown }).consents !== undefined) return
  try {
    await consentBefore(agent, media, { operation: operation?.id ?? null, requestHash: hash, about })
  } catch (error) {
    await agent.approvals.giveBack(attempt)
    throw error
  }
}

/** A request to an address that is not in the contract may cost anything, unless it only reads. */
const isFree = (operation: Operation | null, method: string): boolean =>
  operation ? !isPaid(operation) : method === 'GET' || method === 'HEAD'

/** Also checks that the contract accepts this content type. */
const readsAs = (operation: Operation, { isForm }: ProgramRequest, body: unknown): boolean =>
  bodyTypesOf(operation).includes(isForm ? 'multipart' : 'json') &&
  operation.request.body?.safeParse(body).success === true

/**
 * A path that has the contract's words in singular instead of plural, or the reverse, is a mistake and not something
 * for the user to decide.
 */
function refuseMisspelt({ client }: AgentContext, { method, url }: ProgramRequest): void {
  const { baseUrl } = client.address
  const meant = pathMeant(baseUrl, method, url)
  if (meant === null) return
  const asked = named(new URL(url).pathname.slice(new URL(baseUrl).pathname.length), shownIdCharacters)
  throw new ClientError('not-allowed', `The service has no path ${asked}; it has ${meant}. Send the request there.`, {
    wasSent: false,
  })
}

/** The service may find more in it than we can. */
function unreadable(operation: Operation): ClientError {
  const taken = bodyTypesOf(operation).map(type => bodyWords[type])
  return new ClientError(
    'not-allowed',
    `The body is not valid for this operation (${operation.summary}), so its price cannot be known. Send ${taken.join(' or ')} with only the fields of that operation, each once.`,
    { wasSent: false },
  )
}

const bodyWords = { json: 'a JSON object', multipart: 'a form' } as const

const unknownPrice = ({ method, url }: ProgramRequest): PricedCall => ({
  what: `A request from a program, ${method} ${named(new URL(url).pathname, shownIdCharacters)}`,
  amountMicroUsd: null,
})

function hashOf({ client }: AgentContext, request: ProgramRequest, operation: Operation | null, body: unknown): string {
  const { pathname, search } = new URL(request.url)
  const bytes = body === undefined ? Buffer.from(request.body ?? []).toString('base64') : undefined
  const id = operation?.id ?? `${request.method} ${pathname}`
  return requestHash(
    client.address.baseUrl,
    principalOf(client.credential),
    { id },
    { query: search, body, params: bytes },
  )
}

/**
 * Returns the operation of a request to the service at `baseUrl`; null if the contract has none at that address. Any
 * spelling of a path that some service may accept is accepted here too, because a price depends on it.
 */
function operationOf(baseUrl: string, method: string, url: string): Operation | null {
  return operationAt(askedPath(baseUrl, url), method)
}

/**
 * Returns the contract's path that differs only in singular or plural: `/image/edit` for the `/images/edits` of other
 * services. Null if there is none.
 */
function pathMeant(baseUrl: string, method: string, url: string): string | null {
  const inSingular = (segments: readonly string[]) => segments.map(segment => segment.replace(/s$/, ''))
  return operationAt(askedPath(baseUrl, url), method, inSingular)?.path ?? null
}

type Segments = readonly string[]

/** Returns the path below the service's address; null for a request that goes elsewhere. */
function askedPath(baseUrl: string, url: string): Segments | null {
  const base = segmentsOf(new URL(baseUrl).pathname)
  const asked = segmentsOf(new URL(url).pathname)
  return isSame(base, asked.slice(0, base.length)) ? asked.slice(base.length) : null
}

function operationAt(
  asked: Segments | null,
  method: string,
  compared: (segments: Segments) => Segments = segments => segments,
): Operation | null {
  if (asked === null) return null
  const found = operations.find(
    (operation: Operation) =>
      operation.method === method.toUpperCase() &&
      [operation.path, operation.aliasPath].some(
        path => path !== undefined && isSame(compared(segmentsOf(path)), compared(asked)),
      ),
  )
  return found ?? null
}

const segmentsOf = (path: string): string[] =>
  path
    .split('/')
    .filter(segment => segment !== '')
    .map(segment => percentDecoded(segment).toLowerCase())

/** A parameter such as `{id}` stands for one segment. */
const isSame = (pattern: Segments, segments: Segments): boolean =>
  pattern.length === segments.length && pattern.every((part, index) => part.startsWith('{') || part === segments[index])
