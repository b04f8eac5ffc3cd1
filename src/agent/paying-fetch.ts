import { ClientError } from '#client/client-error.ts'
import { errorBytes } from '#client/limits.ts'
import { readBytes } from '#client/read-body.ts'
import type { WireResponse } from '#client/wire.ts'
import { paymentHeaderNames } from '#contract/headers.ts'
import type { ServiceError } from '#contract/service-error.ts'
import { isYes } from '#toolkit/say-question.ts'
import { NeedsApproval } from '#wallet/needs-approval.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import { fetchBodyBytes } from './bounds.ts'
import type { Core } from './core.ts'
import { type Fetch, refusalHeader } from './fetch.ts'
import { payAfter402, wantsCredit } from './pay-after-402.ts'
import type { AskPerson } from './person-asked.ts'
import { personFor } from './person-for.ts'

/**
 * A `fetch` for the service's origin alone: it brings the credential, and after a 402 it tops up within the policy and
 * repeats the request once. It does not price calls: the caps of payments hold, those of a single call are the tools'.
 * Streams pass as they come; a redirect is an error.
 */
export function payingFetch(core: Core, ask?: AskPerson): Fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const sent = await asSent(core, request)
    const response = await core.client.exchange(sent, { signal: request.signal })
    if (response.status !== 402 || !core.wallet) return asResponse(response)
    const { error, again } = await readRefusal(core, response)
    if (!wantsCredit(error)) return again()
    const refusal = await payOrSay(core, error, ask)
    if (refusal !== null) return again({ [refusalHeader]: refusal })
    return asResponse(await core.client.exchange(sent, { signal: request.signal }))
  }
}

const ownHeaders = new Set<string>(['authorization', 'sign-in-with-x', 'x-sign-in-with-x', ...paymentHeaderNames])
/** The connection's own, and an encoding that nobody here would undo. */
const hopHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])

/** Checked before a body is read or a credential made: another origin gets neither. */
async function asSent({ client }: Core, request: Request) {
  if (new URL(request.url).origin !== client.address.origin) {
    throw new ClientError(
      'not-allowed',
      `This fetch is for ${client.address.origin} only; use another for other addresses.`,
      {
        wasSent: false,
      },
    )
  }
  const headers: Record<string, string> = {}
  for (const [name, value] of request.headers) if (!ownHeaders.has(name) && !hopHeaders.has(name)) headers[name] = value
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined
  if (body && body.byteLength > fetchBodyBytes) {
    throw new ClientError('too-large', `The request is larger than ${fetchBodyBytes} bytes.`, { wasSent: false })
  }
  return { method: request.method, url: request.url, headers, body }
}

/** The error of a 402, and the answer as it came, for a caller who has to see it. */
async function readRefusal({ client }: Core, response: WireResponse) {
  const bytes = await readBytes(response, errorBytes)
  const copy = { ...response, body: once(bytes) }
  const error = await client.errorOf(null, copy)
  const again = (more: Record<string, string> = {}) => {
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(more)) headers.set(name, value)
    return new Response(Buffer.from(bytes), { status: response.status, headers })
  }
  return { error, again }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Null where credit is there now; else why not, in a sentence. */
async function payOrSay(core: Core, error: ServiceError, ask: AskPerson | undefined): Promise<string | null> {
  const purpose = 'Credit that a request of a program asked for'
  try {
    await payAfter402(core, error, null, purpose)
    return null
  } catch (refusal) {
    if (refusal instanceof NeedsApproval) {
      if (!ask || !(await isAgreed(core, refusal, ask))) return headerText(refusal.message)
      return payOrSay(core, error, undefined)
    }
    if (refusal instanceof WalletRefusal || refusal instanceof ClientError) return headerText(refusal.message)
    throw refusal
  }
}

async function isAgreed({ approvals }: Core, { question }: NeedsApproval, ask: AskPerson): Promise<boolean> {
  const isApproved = isYes(await ask(personFor(question).question))
  approvals.resolve(question.approvalId, { isApproved, by: 'the program' })
  return isApproved
}

const headerText = (sentence: string): string => sentence.replace(/[^\x20-\x7e]/g, '?').slice(0, 500)

/** Statuses that have no body by definition. */
const bodiless = new Set([204, 205, 304])

function asResponse({ status, headers, body, discard }: WireResponse): Response {
  if (bodiless.has(status)) {
    discard()
    return new Response(null, { status, headers })
  }
  return new Response(ReadableStream.from<Uint8Array>(body), { status, headers })
}
