import { ClientError } from '#client/client-error.ts'
import { paymentHeaderNames } from '#contract/headers.ts'
import { jsonDepth } from '#contract/limits.ts'
import { parseJson } from '#contract/safe-json.ts'
import { fetchBodyBytes } from './bounds.ts'
import type { Core } from './core.ts'

/** A request as a program wrote it, without what only the agent may add. */
export interface ProgramRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: Uint8Array | undefined
  /** The body where it is a JSON object, in the words of the service. */
  json: Record<string, unknown> | undefined
}

const ownHeaders = new Set<string>(['authorization', 'sign-in-with-x', 'x-sign-in-with-x', ...paymentHeaderNames])
/** The connection's own, and an encoding that nobody here would undo. */
const hopHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])

/** Checked before a body is read or a credential made: another origin gets neither. */
export async function readProgramRequest({ client }: Core, request: Request): Promise<ProgramRequest> {
  if (new URL(request.url).origin !== client.address.origin) {
    throw new ClientError(
      'not-allowed',
      `This fetch is for ${client.address.origin} only; use another for other addresses.`,
      { wasSent: false },
    )
  }
  const headers: Record<string, string> = {}
  for (const [name, value] of request.headers) if (!ownHeaders.has(name) && !hopHeaders.has(name)) headers[name] = value
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined
  if (body && body.byteLength > fetchBodyBytes) {
    throw new ClientError('too-large', `The request is larger than ${fetchBodyBytes} bytes.`, { wasSent: false })
  }
  return { method: request.method, url: request.url, headers, body, json: jsonOf(headers, body) }
}

function jsonOf(headers: Record<string, string>, body: Uint8Array | undefined): ProgramRequest['json'] {
  if (!body || !/^application\/json\b/i.test(headers['content-type'] ?? '')) return undefined
  const parsed = parseJson(Buffer.from(body).toString('utf8'), jsonDepth)
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined
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
  return { ...request, json: next, body: Buffer.from(JSON.stringify(next)) }
}
