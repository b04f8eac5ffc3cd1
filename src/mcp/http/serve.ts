import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { loopbackConnections, loopbackServerOptions } from '#toolkit/bounds.ts'
import { httpDrainMs, httpLimits, messageBytes, stopMs } from '../bounds.ts'
import type { Deliveries } from '../context.ts'
import { type Endpoint, type EndpointOptions, openEndpoint } from '../endpoint.ts'
import { logFault } from '../faults.ts'
import { type HttpSessions, httpSessions } from './sessions.ts'

export interface ServeHttp extends EndpointOptions {
  /** Of loopback; 0 lets the system choose. */
  port: number
  /** Whether this is the token that the owner's clients were given. */
  isToken(given: string): boolean
}

export interface HttpServing {
  url: string
  /** Takes no more requests, lets calls in flight end for a moment, then closes the host. */
  close(): Promise<void>
}

/**
 * Serves MCP by Streamable HTTP on this machine alone, to any number of clients at once. Rejects with Node's own error where
 * the port is taken.
 */
export async function serveHttp({ port, isToken, ...options }: ServeHttp): Promise<HttpServing> {
  const frame = openEndpoint(options)
  const exchanges = new HttpExchanges(frame)
  const server = createServer(loopbackServerOptions, (request, response) => {
    if (letIn(request, response, isToken)) exchanges.answer(request, response)
  })
  server.maxConnections = loopbackConnections
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${httpPath}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      await Promise.race([exchanges.stop(), sleep(httpDrainMs, undefined, { ref: false })])
      await exchanges.cut()
      server.closeAllConnections()
      await closed
      await frame.calls.settled(stopMs)
      await frame.close()
    },
  }
}

/** Requests that were let in. Of newer protocols each has a server of its own; older ones have one for a session. */
export class HttpExchanges {
  readonly #onerror: (error: Error) => void
  readonly #handler: ReturnType<typeof createMcpHandler>
  readonly #sessions: HttpSessions
  readonly #answer: ReturnType<typeof toNodeHandler>
  /** Numbers of requests are the clients' own, so what waits for one exchange may not meet what waits for another. */
  readonly #deliveries = new AsyncLocalStorage<ExchangeDeliveries>()
  readonly #open = new Set<Promise<unknown>>()
  #isStopping = false
  #isCut = false

  constructor(frame: Endpoint) {
    const onerror = (error: Error) => void logFault(frame.log, 'transport', error)
    this.#onerror = onerror
    this.#handler = createMcpHandler(
      ({ era }) => frame.serverFor(this.#deliveries.getStore() ?? new ExchangeDeliveries(), era),
      { onerror, maxSubscriptions: httpLimits.subscriptions, maxRequestBodySize: messageBytes },
    )
    const deliveries = {
      expect: (id: string | number, runs: readonly (() => void)[]) => this.#deliveries.getStore()?.expect(id, runs),
      forget() {},
    }
    this.#sessions = httpSessions(() => frame.serverFor(deliveries, 'legacy'), frame.clock, onerror)
    const fetch = async (asked: Request) => (await this.#sessions.fetch(asked)) ?? this.#handler.fetch(asked)
    this.#answer = toNodeHandler({ fetch }, { onerror, maxRequestBodySize: messageBytes })
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isStopping || this.#open.size >= httpLimits.exchanges) {
      response.setHeader('retry-after', '1')
      refuse(response, 503, this.#isStopping ? 'This server is stopping.' : 'Too many requests are in flight.')
      return
    }
    const deliveries = new ExchangeDeliveries()
    response.once('finish', () => this.#noteWritten(deliveries, response))
    const answered = this.#deliveries.run(deliveries, () => this.#answer(request, response)).catch(this.#onerror)
    // A stream of notifications ends with its server, so nobody waits for it.
    if (request.method === 'GET' || request.headers['mcp-method'] === 'subscriptions/listen') return
    const ended = answered.then(() => written(response)).finally(() => this.#open.delete(ended))
    this.#open.add(ended)
  }

  /** Takes no more, and resolves when those in flight have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.allSettled(this.#open)
  }

  /** Aborts what is still in flight. */
  async cut(): Promise<void> {
    this.#isCut = true
    await Promise.all([this.#handler.close(), this.#sessions.close()])
  }

  #noteWritten(deliveries: ExchangeDeliveries, { statusCode }: ServerResponse): void {
    // An answer that was cut off ends as well; it is safer to give a result twice than never.
    if (this.#isCut || statusCode !== 200) return
    try {
      deliveries.written()
    } catch (error) {
      // The client has it; that it could not be noted is no reason to tell it again.
      this.#onerror(error as Error)
    }
  }
}

async function written(response: ServerResponse): Promise<void> {
  if (!response.writableFinished && !response.destroyed) await once(response, 'close')
}

/** Where MCP is served. */
export const httpPath = '/mcp'

/** What a Host header may be; a user's name before it would pass for the host's in a URL, and breaks the request's. */
const hostForm = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i
const isLocalHost = localhostHostValidation()
const isLocalOrigin = localhostOriginValidation()

/**
 * Lets a request in, or answers it. The tools spend money, so it has to come from a program that knows the token, and from
 * no page: a page can reach loopback under any name that its owner's DNS gives it. Nothing of the body has been read then.
 */
export function letIn(
  request: IncomingMessage,
  response: ServerResponse,
  isToken: (given: string) => boolean,
): boolean {
  const { host, authorization } = request.headersDistinct
  if ((host?.length ?? 0) > 1) return refuse(response, 400, 'Send exactly one Host header.')
  if (!isLocalHost(request, response) || !isLocalOrigin(request, response)) return false
  if (!hostForm.test(host?.[0] ?? '')) return refuse(response, 403, 'The Host header does not name this machine.')
  if (pathOf(request) !== httpPath) return refuse(response, 404, `MCP is served at ${httpPath}.`)
  const [given = '', ...more] = authorization ?? []
  const token = /^bearer +(\S+)$/i.exec(given)?.[1] ?? ''
  if (more.length > 0 || !isToken(token)) {
    response.setHeader('www-authenticate', 'Bearer realm="farebox"')
    return refuse(
      response,
      401,
      'Send the token of this server as `Authorization: Bearer TOKEN`; the server printed the token’s file when it started.',
    )
  }
  return true
}

/** An answer before the protocol, in the shape that its clients read. Always false, for the caller to return. */
export function refuse(response: ServerResponse, status: number, message: string): false {
  // What was not read of the body would be taken for the next request.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
  return false
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? ''

/** What waits for the answer of one HTTP exchange to be written: until then its result counts as not delivered. */
export class ExchangeDeliveries implements Pick<Deliveries, 'expect' | 'forget'> {
  readonly #waiting: (() => void)[] = []

  expect(_id: unknown, runs: readonly (() => void)[]): void {
    this.#waiting.push(...runs)
  }

  /** Nothing: an exchange is aborted at its own end too, and one that is left early is never written. */
  forget(): void {}

  /** All of the answer has been handed to the system. */
  written(): void {
    for (const run of this.#waiting.splice(0)) run()
  }
}
