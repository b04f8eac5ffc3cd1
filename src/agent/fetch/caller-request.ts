import { createHash } from 'node:crypto'
import { ClientError } from '#client/client-error.ts'
import { jsonDepth } from '#contract/limits.ts'
import { type FormFields, type FormPart, fieldsOf, formBoundary, formParts } from '#contract/wire/form.ts'
import { paymentHeaderNames } from '#contract/wire/headers.ts'
import { isObject, parseJsonWithUniqueNames, utf8Text } from '#contract/wire/json.ts'
import { isJsonMediaType } from '#contract/wire/media-type.ts'
import { bytesWithin } from '#host/network.ts'
import { FormFile } from '#toolkit/values/form-file.ts'
import { fetchBodyBytes } from '../bounds.ts'
import type { AgentContext } from '../context.ts'

/** A request as a program wrote it, without what only the agent may add. */
export interface ProgramRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: Uint8Array | undefined
  /** The body if it is a JSON object, in the service's terms. */
  json: Record<string, unknown> | undefined
  /** The input for its price: that object, a JSON list, or the fields of a form; undefined for anything else. */
  read: unknown
  isForm: boolean
}

/**
 * Only the agent's own values are sent, and none that could make a service or proxy interpret the request differently.
 */
const ownHeaders = new Set<string>([
  ...['authorization', 'proxy-authorization', 'sign-in-with-x', 'x-sign-in-with-x', ...paymentHeaderNames],
  ...['cookie', 'origin', 'referer', 'forwarded', 'via', 'x-real-ip'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
])
/** Headers of the connection, and an encoding that we would not decode. */
const hopHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])

const isPassed = (name: string): boolean =>
  !ownHeaders.has(name) && !hopHeaders.has(name) && !name.startsWith('x-forwarded-')

/** Runs before a body is read or a credential made, because another origin must get neither. */
export async function readProgramRequest({ client }: AgentContext, request: Request): Promise<ProgramRequest> {
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
  // The parsed body is sent as JSON, even if the service accepts other content types for it.
  if (read !== undefined) headers['content-type'] = 'application/json'
  return { ...asked, body, json: isObject(read) ? read : undefined, read, isForm: false }
}

/** Sends what was parsed, encoded again by us, so that no other parser finds a different form in it. */
function asForm(headers: Record<string, string>, parts: readonly FormPart[]) {
  const { type, body } = writeForm(parts)
  return {
    ...{ headers: { ...headers, 'content-type': type }, body },
    ...{ json: undefined, read: formFields(parts), isForm: true },
  }
}

async function bodyOf(request: Request): Promise<Uint8Array | undefined> {
  if (!request.body) return undefined
  const announced = Number(request.headers.get('content-length') ?? 0)
  const body = announced > fetchBodyBytes ? null : await bytesWithin(request.body, fetchBodyBytes)
  if (body) return body
  throw new ClientError('too-large', `The request is larger than ${fetchBodyBytes} bytes.`, { wasSent: false })
}

/** With a repeated name, one parser would use the first value and another the last. */
function jsonOf(headers: Record<string, string>, body: Uint8Array | undefined): unknown {
  if (!body || !isJsonMediaType(headers['content-type'])) return undefined
  const text = utf8Text(body)
  if (text === null) return undefined
  const parsed = parseJsonWithUniqueNames(text, jsonDepth)
  return parsed.ok && (isObject(parsed.value) || Array.isArray(parsed.value)) ? parsed.value : undefined
}

/** Returns the request with other members in its body. */
export const withMembers = (
  request: ProgramRequest,
  { consents: _, ...json }: Record<string, unknown>,
  consents?: object,
): ProgramRequest => {
  const next = consents ? { ...json, consents } : json
  return { ...request, json: next, read: next, body: Buffer.from(JSON.stringify(next)) }
}

/** Returns the request without a consent that its author has added. */
export function withoutConsents(request: ProgramRequest): ProgramRequest {
  if (request.json?.consents !== undefined) return withMembers(request, request.json)
  const parts = request.isForm && request.body ? readForm(request.headers['content-type'], request.body) : null
  const others = parts?.filter(({ name }) => !/^consents\b/i.test(name))
  return !others || others.length === parts?.length ? request : { ...request, ...asForm(request.headers, others) }
}

/** Field names of every contract; a list ends in `[]`. Other names could be quoted in several ways. */
const fieldName = /^[\w.-]{1,100}(\[[\w.-]{0,100}\]){0,4}$/

/**
 * Returns the parts of a form that a program wrote; null if the body is not a form, or could be parsed in more than one
 * way.
 */
export function readForm(contentType: string | undefined, body: Uint8Array): FormPart[] | null {
  const boundary = formBoundary(contentType)
  if (boundary === null) return null
  const read = formParts(Buffer.from(body.buffer, body.byteOffset, body.byteLength), boundary)
  if (!read.ok || !read.parts.every(({ name }) => fieldName.test(name) && !name.startsWith('__proto__'))) return null
  return read.parts.map(({ name, content }) => ({
    name,
    content:
      typeof content === 'string'
        ? content
        : { ...content, ...plainName(content.filename), ...plainType(content.type) },
  }))
}

/** Makes a file name that needs no quoting, so that every parser ends it in the same place. */
const plainName = (filename: string) => ({
  filename:
    filename
      .slice(0, fileNameCharacters)
      .toWellFormed()
      .replaceAll(/[\p{Cc}"\\%;]/gu, '_') || 'file',
})

const fileNameCharacters = 255

/** Removes parameters, which might be quoted. */
const plainType = (type: string) => ({
  type: /^([\w.+-]{1,100}\/[\w.+-]{1,100})\s*(;|$)/.exec(type)?.[1]?.toLowerCase() ?? 'application/octet-stream',
})

/** Equal names, texts and files give equal fields, however the original form was written. */
export const formFields = (parts: readonly FormPart[]): FormFields =>
  fieldsOf(parts, ({ filename, type, bytes }) => new FormFile(new Uint8Array(bytes), filename, type))

/**
 * Encodes these parts as a form. Its boundary is the hash of its content: no part can contain it, and the same form
 * gets the same bytes again, for services that compare a repeat's bytes.
 */
export function writeForm(parts: readonly FormPart[]): { type: string; body: Uint8Array } {
  const pieces = parts.map(part => [Buffer.from(headOf(part)), bytesOf(part)] as const)
  const hash = createHash('sha256')
  for (const [head, bytes] of pieces) hash.update(`${head.byteLength} ${bytes.byteLength} `).update(head).update(bytes)
  const boundary = `farebox-${hash.digest('hex').slice(0, 48)}`
  const body = Buffer.concat([
    ...pieces.flatMap(([head, bytes]) => [Buffer.from(`--${boundary}\r\n`), head, bytes, Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
  return { type: `multipart/form-data; boundary=${boundary}`, body }
}

function headOf({ name, content }: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${name}"`
  if (typeof content === 'string') return `${disposition}\r\n\r\n`
  return `${disposition}; filename="${content.filename}"\r\nContent-Type: ${content.type}\r\n\r\n`
}

const bytesOf = ({ content }: FormPart): Buffer => (typeof content === 'string' ? Buffer.from(content) : content.bytes)
