import { ClientError } from '#client/client-error.ts'
import { jsonDepth } from '#contract/limits.ts'
import type { FormPart } from '#contract/wire/form.ts'
import { paymentHeaderNames } from '#contract/wire/headers.ts'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { isJsonMediaType } from '#contract/wire/media-type.ts'
import { fetchBodyBytes } from '../bounds.ts'
import type { Core } from '../core.ts'
import { formFields, readForm, writeForm } from './program-form.ts'

/** A request as a program wrote it, without what only the agent may add. */
export interface ProgramRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: Uint8Array | undefined
  /** The body where it is a JSON object, in the words of the service. */
  json: Record<string, unknown> | undefined
  /** What a price is read from: that object, a list of JSON, or the fields of a form; undefined where it is none of them. */
  read: unknown
  isForm: boolean
}

/** Only the agent's own are sent, and none that tells a service or a proxy on the way that the request is another one. */
const ownHeaders = new Set<string>([
  ...['authorization', 'proxy-authorization', 'sign-in-with-x', 'x-sign-in-with-x', ...paymentHeaderNames],
  ...['cookie', 'origin', 'referer', 'forwarded', 'via', 'x-real-ip'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
])
/** The connection's own, and an encoding that nobody here would undo. */
const hopHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])

const isPassed = (name: string): boolean =>
  !ownHeaders.has(name) && !hopHeaders.has(name) && !name.startsWith('x-forwarded-')

/** Checked before a body is read or a credential made: another origin gets neither. */
export async function readProgramRequest({ client }: Core, request: Request): Promise<ProgramRequest> {
  if (new URL(request.url).origin !== client.address.origin) {
    throw new ClientError(
      'not-allowed',
      `This fetch is for ${client.address.origin} only; use another for other addresses.`,
      { wasSent: false },
    )
  }
  const headers = Object.fromEntries([...request.headers].filter(([name]) => isPassed(name)))
  const body = await bodyOf(request)
  const asked = { method: request.method, url: request.url, headers }
  const form = body && readForm(headers['content-type'], body)
  if (form) return { ...asked, ...asForm(headers, form) }
  const read = jsonOf(headers, body)
  // What was read as JSON is sent as nothing else, whatever a service makes of other names for it.
  if (read !== undefined) headers['content-type'] = 'application/json'
  return { ...asked, body, json: isObject(read) ? read : undefined, read, isForm: false }
}

/** What was read is what is sent, in bytes of our own: no other reader finds another form in it. */
function asForm(headers: Record<string, string>, parts: readonly FormPart[]) {
  const { type, body } = writeForm(parts)
  return {
    ...{ headers: { ...headers, 'content-type': type }, body },
    ...{ json: undefined, read: formFields(parts), isForm: true },
  }
}

async function bodyOf(request: Request): Promise<Uint8Array | undefined> {
  if (!request.body) return undefined
  const pieces: Uint8Array[] = []
  let size = Number(request.headers.get('content-length') ?? 0)
  if (size <= fetchBodyBytes) {
    size = 0
    for await (const piece of request.body) {
      size += piece.byteLength
      if (size > fetchBodyBytes) break
      pieces.push(piece)
    }
  }
  if (size <= fetchBodyBytes) return Buffer.concat(pieces)
  throw new ClientError('too-large', `The request is larger than ${fetchBodyBytes} bytes.`, { wasSent: false })
}

/** A name that is there twice would be read as the first by one reader and as the last by another. */
function jsonOf(headers: Record<string, string>, body: Uint8Array | undefined): unknown {
  if (!body || !isJsonMediaType(headers['content-type'])) return undefined
  const text = textOf(body)
  if (text === null) return undefined
  const parsed = parseJsonWithUniqueNames(text, jsonDepth)
  return parsed.ok && (isObject(parsed.value) || Array.isArray(parsed.value)) ? parsed.value : undefined
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(body: Uint8Array): string | null {
  try {
    return strictUtf8.decode(body)
  } catch {
    return null
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The same request with other members in its body. */
export const withMembers = (
  request: ProgramRequest,
  { consents: _, ...json }: Record<string, unknown>,
  consents?: object,
): ProgramRequest => {
  const next = consents ? { ...json, consents } : json
  return { ...request, json: next, read: next, body: Buffer.from(JSON.stringify(next)) }
}

/** The same request without a consent that its writer has put in. */
export function withoutConsents(request: ProgramRequest): ProgramRequest {
  if (request.json?.consents !== undefined) return withMembers(request, request.json)
  const parts = request.isForm && request.body ? readForm(request.headers['content-type'], request.body) : null
  const others = parts?.filter(({ name }) => !/^consents\b/i.test(name))
  return !others || others.length === parts?.length ? request : { ...request, ...asForm(request.headers, others) }
}
