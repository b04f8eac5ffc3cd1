import { ClientError } from '#client/client-error.ts'
import { principalOf } from '#client/credential.ts'
import { zeroUsd } from '#contract/money.ts'
import { bodyTypesOf, isPaid, type Operation } from '#contract/operations/operation.ts'
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
import { operationOf, pathMeant } from './operation-of.ts'

/** A request that may go; `attempt` names it to the approval that it may have used up. */
export interface AllowedRequest {
  attempt: string
  operation: Operation | null
  price: PricedCall | null
  /** What a person's answer is bound to. */
  hash: string
  /** What a person is told of it. */
  about: AskedAbout
}

/**
 * Prices what a program is about to send and holds it against the caps of a call, as a tool's call is. Throws the
 * wallet's refusal or question, and what the service says to a call that it would not take.
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

/** What a program's own code says for a person counts as it did; the caller has left out what may not say it. */
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

/** An address that the contract does not know may cost whatever its service likes, unless it is only read. */
const isFree = (operation: Operation | null, method: string): boolean =>
  operation ? !isPaid(operation) : method === 'GET' || method === 'HEAD'

/** Also that it comes in a way that the contract takes for it. */
const readsAs = (operation: Operation, { isForm }: ProgramRequest, body: unknown): boolean =>
  bodyTypesOf(operation).includes(isForm ? 'multipart' : 'json') &&
  operation.request.body?.safeParse(body).success === true

/** A path that only its number of words keeps from the contract is a mistake, and no question for a person. */
function refuseMisspelt({ client }: AgentContext, { method, url }: ProgramRequest): void {
  const { baseUrl } = client.address
  const meant = pathMeant(baseUrl, method, url)
  if (meant === null) return
  const asked = named(new URL(url).pathname.slice(new URL(baseUrl).pathname.length), shownIdCharacters)
  throw new ClientError('not-allowed', `The service has no path ${asked}; it has ${meant}. Send the request there.`, {
    wasSent: false,
  })
}

/** Its service may read more into it than anybody here can. */
function unreadable(operation: Operation): ClientError {
  const taken = bodyTypesOf(operation).map(type => bodyWords[type])
  return new ClientError(
    'not-allowed',
    `The body does not read as what it is for (${operation.summary}), so its price cannot be known. Send ${taken.join(' or ')} with the members of that call, each once.`,
    { wasSent: false },
  )
}

const bodyWords = { json: 'a JSON object', multipart: 'a form' } as const

const unknownPrice = ({ method, url }: ProgramRequest): PricedCall => ({
  what: `A request of a program, ${method} ${named(new URL(url).pathname, shownIdCharacters)}`,
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
