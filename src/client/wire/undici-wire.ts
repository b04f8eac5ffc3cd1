import type { LookupFunction } from 'node:net'
import { Agent, type Dispatcher, request } from 'undici'
import { ClientError } from '../client-error.ts'
import { bodyTimeoutMs, connectTimeoutMs, headersTimeoutMs, keepAliveMs } from '../limits.ts'
import type { Wire } from './wire.ts'

/** The wire of a process: connections of its own, kept until `close`; names are resolved by `lookup` where it is given. */
export function undiciWire({ lookup }: { lookup?: LookupFunction } = {}): { wire: Wire; close(): Promise<void> } {
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs, ...(lookup ? { lookup } : {}) },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  })
  return { wire: wireOf(agent), close: () => agent.destroy() }
}

const wireOf =
  (dispatcher: Dispatcher): Wire =>
  async ({ method, url, headers, body, signal }) => {
    try {
      const response = await request(url, {
        dispatcher,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: body ?? null,
        ...(signal ? { signal } : {}),
      })
      return {
        status: response.statusCode,
        headers: headersOf(response.headers),
        body: response.body,
        discard: () => void response.body.on('error', ignore).destroy(),
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw wireFailure(error)
    }
  }

const ignore = () => {}

function headersOf(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one)
  }
  return headers
}

/** Codes of failures before the first byte of a request; TLS ones say so in their names. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
])
const tlsFailure = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO)/

/** A failure of the network as one of ours: sent or not is all that a retry may depend on. */
export function wireFailure(error: unknown): ClientError {
  // As of a lookup that refuses what a name leads to.
  if (error instanceof ClientError) return error
  const code = codeOf(error)
  return beforeSending.has(code) || tlsFailure.test(code)
    ? new ClientError('unreachable', 'The service cannot be reached.', { wasSent: false, cause: error })
    : new ClientError('no-answer', 'The service did not answer.', { wasSent: true, cause: error })
}

/** Several addresses of one host fail as one error that holds the others. */
function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}
