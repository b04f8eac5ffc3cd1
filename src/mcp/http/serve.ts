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
  /** A port on loopback; 0 lets the system choose. */
  port: number
  /** Whether this is the token that the owner gave their clients. */
  isToken(given: string): boolean
}

export interface HttpServing {
  url: string
  /** Stops accepting requests, lets calls in flight finish for a moment, then closes the host. */
  close(): Promise<void>
}

/**
 * Serves MCP over Streamable HTTP on loopback, to any number of clients at once. Rejects with Node's own error if the
 * port is taken.
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

/** The accepted requests. In newer protocols each has its own server; in older ones a session has one. */
class HttpExchanges {
  readonly #onerror: (error: Error) => void
  readonly #handler: ReturnType<typeof createMcpHandler>
  readonly #sessions: HttpSessions
  readonly #answer: ReturnType<typeof toNodeHandler>
  /** Clients choose request ids themselves, so deliveries are kept separate for each exchange. */
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
    // A stream of notifications ends with its server, so nothing waits for it.
    if (request.method === 'GET' || request.headers['mcp-method'] === 'subscriptions/listen') return
    const ended = answered.then(() => written(response)).finally(() => this.#open.delete(ended))
    this.#open.add(ended)
  }

  /** Stops accepting requests, and resolves when those in flight have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.allSettled(this.#open)
  }

  /** Aborts the requests still in flight. */
  async cut(): Promise<void> {
    this.#isCut = true
    await Promise.all([this.#handler.close(), this.#sessions.close()])
  }

  #noteWritten(deliveries: ExchangeDeliveries, { statusCode }: ServerResponse): void {
    // An interrupted response also ends here, so it is not recorded as written: delivering a result twice is safer than
    // never.
    if (this.#isCut || statusCode !== 200) return
    try {
      deliveries.written()
    } catch (error) {
      // The client has the result; failing to record that is no reason to send it again.
      this.#onerror(error as Error)
    }
  }
}

async function written(response: ServerResponse): Promise<void> {
  if (!response.writableFinished && !response.destroyed) await once(response, 'close')
}

/** The path of the MCP endpoint. */
const httpPath = '/mcp'

/** Valid Host headers. A user name is excluded, because in a URL it could pass for the host. */
const hostForm = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i
const isLocalHost = localhostHostValidation()
const isLocalOrigin = localhostOriginValidation()

/**
 * Accepts a request or answers it. The tools spend money, so a request must come from a program that knows the token,
 * and never from a web page: a page can reach loopback under any name that its owner's DNS defines. Runs before the
 * body is read.
 */
function letIn(request: IncomingMessage, response: ServerResponse, isToken: (given: string) => boolean): boolean {
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
      'Send the token of this server as `Authorization: Bearer TOKEN`; the server printed the path of its token file when it started.',
    )
  }
  return true
}

/**
 * Answers before the protocol starts, in the shape that its clients parse. Always returns false, for the caller to
 * return.
 */
function refuse(response: ServerResponse, status: number, message: string): false {
  // Otherwise the unread body would be parsed as the next request.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
  return false
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? ''

/**
 * Callbacks that run once the answer of one HTTP exchange is written; until then its result counts as not delivered.
 */
class ExchangeDeliveries implements Pick<Deliveries, 'expect' | 'forget'> {
  readonly #waiting: (() => void)[] = []

  expect(_id: unknown, runs: readonly (() => void)[]): void {
    this.#waiting.push(...runs)
  }

  /** Does nothing: an exchange is also aborted at its normal end, and an abandoned answer is never written. */
  forget(): void {}

  /** The whole answer has been handed to the system. */
  written(): void {
    for (const run of this.#waiting.splice(0)) run()
  }
}
