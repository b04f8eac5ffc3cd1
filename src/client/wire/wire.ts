import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import { isLoopback, isPrivateAddress, isPrivateHost } from '#contract/wire/network-address.ts'
import { ClientError } from '../client-error.ts'
import { bodyTimeoutMs, connectTimeoutMs, headersTimeoutMs, keepAliveMs } from '../limits.ts'

/** One HTTP exchange and nothing more: no redirect, retry, cookie or cache. */
export type Wire = (request: WireRequest) => Promise<WireResponse>

export interface WireRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array | undefined
  signal?: AbortSignal | undefined
}

export interface WireResponse {
  status: number
  headers: Headers
  body: AsyncIterable<Uint8Array>
  /** Releases a body that is not read. */
  discard(): void
}

/**
 * Creates a process's wire with its own connections, kept until `close`. Uses `lookup` to resolve names if it is given.
 */
export function undiciWire({ lookup }: { lookup?: LookupFunction } = {}): { wire: Wire; close(): Promise<void> } {
  const options = {
    connect: { timeout: connectTimeoutMs, ...(lookup ? { lookup } : {}) },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  }
  // Node's own switch. A proxy would resolve names itself, so a given lookup would check nothing.
  const isProxied = process.env.NODE_USE_ENV_PROXY === '1' && lookup === undefined
  const agent = isProxied ? proxyAgent(options) : new Agent(options)
  return { wire: wireOf(agent), close: () => agent.destroy() }
}

/** Plain HTTP goes only to this machine, and contains credentials that no proxy may see. */
const proxyAgent = (options: Agent.Options): Dispatcher =>
  new EnvHttpProxyAgent({ ...options, httpProxy: '', connectTimeout: connectTimeoutMs })

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
      throw wireFailure(error, url)
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

/** Codes of failures before the first byte of a request; TLS failures are recognized by their names. */
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

/** Turns a network failure into our error: a retry depends only on whether the request was sent. */
export function wireFailure(error: unknown, url?: string): ClientError {
  // For example from a lookup that refuses an address.
  if (error instanceof ClientError) return error
  const code = codeOf(error)
  const isRefusedByProxy = error instanceof Error && /^Proxy response \(/.test(error.message)
  const at = url === undefined ? '' : ` at ${new URL(url).origin}`
  return isRefusedByProxy || beforeSending.has(code) || tlsFailure.test(code)
    ? new ClientError('unreachable', `The service${at} cannot be reached.`, { wasSent: false, cause: error })
    : new ClientError('no-answer', 'The service did not answer.', { wasSent: true, cause: error })
}

/** If all addresses of a host fail, they arrive as one error that contains the others. */
function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}

/** Returns all addresses of a host. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

/**
 * Resolves an untrusted host, and fails if any of its addresses is private. Node connects only to the returned
 * addresses, so a second DNS answer has no effect.
 */
export const publicLookup =
  (resolve: Resolve = resolveBySystem): LookupFunction =>
  (host, { all }, done) => {
    resolve(host).then(
      addresses => {
        const [first] = addresses
        if (!first || addresses.some(({ address }) => isPrivateAddress(address))) return done(leadsInside(), '')
        if (all) done(null, [...addresses])
        else done(null, first.address, first.family)
      },
      error => done(error, ''),
    )
  }

const leadsInside = (): ClientError =>
  new ClientError('not-allowed', 'The download address is in a private network.', {
    wasSent: false,
  })

const resolveBySystem: Resolve = host =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })

/** Creates a wire over a given `fetch`: a service in the same process, or the caller's own. */
export const fetchWire =
  (fetch: (request: Request) => Response | Promise<Response>): Wire =>
  async ({ method, url, headers, body, signal }) => {
    const request = new Request(url, {
      method,
      headers: { ...headers },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      ...(signal ? { signal } : {}),
    })
    try {
      const response = await fetch(request)
      return {
        status: response.status,
        headers: response.headers,
        body: response.body ?? empty(),
        discard: () => void response.body?.cancel().catch(() => {}),
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw wireFailure(error, url)
    }
  }

async function* empty(): AsyncGenerator<Uint8Array> {}

/** A service's address. Everything that carries a credential goes there and nowhere else. */
export interface ServiceAddress {
  /** Without a trailing slash: `https://host/api/v1`. */
  baseUrl: string
  origin: string
}

/** Parses a base URL: https, or http on this machine, without credentials, query or fragment. Throws `not-allowed`. */
export function serviceAddress(text: string): ServiceAddress {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url) throw refused('The address of the service is not a URL.')
  if (url.username || url.password || url.search || url.hash) {
    throw refused('The address of the service may contain only a host and a path.')
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw refused('The address of the service must use https; plain http works only for services on this machine.')
  }
  return { baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, origin: url.origin }
}

const refused = (message: string): ClientError => new ClientError('not-allowed', message, { wasSent: false })

/**
 * Parses the address at which a service says a file is: https, or the service's own origin. A service must not lead
 * callers into their own networks, so a private address is allowed only on the service's own host. Throws
 * `not-allowed`.
 */
export function downloadAddress(text: string, service: ServiceAddress): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || (url.protocol !== 'https:' && url.origin !== service.origin)) {
    throw refused('The download address must use https.')
  }
  if (url.username || url.password) throw refused('The download address contains a user name.')
  if (isPrivateHost(url.hostname) && url.hostname !== new URL(service.baseUrl).hostname) {
    throw refused('The download address is in a private network.')
  }
  return url
}
