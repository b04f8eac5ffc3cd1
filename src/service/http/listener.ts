import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { serviceStarting, topUpUnavailable } from '#contract/errors/errors.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { type Clock, minuteMs, systemClock } from '#contract/time.ts'
import { basePath } from '#contract/wire/base-url.ts'
import { hostName, retryAfter } from '#contract/wire/headers.ts'
import { defaultVendor } from '#contract/wire/vendor.ts'
import { OpenList } from '#host/async.ts'
import { readerPatienceMs, writePulled } from '#host/pulled-body.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { sendJson } from './body/send.ts'
import { Exchange, setCommonHeaders, type WriteAnswer } from './exchange.ts'

/**
 * Node's own messages, and what a web `Response` cannot do: write an answer without a web stream, and close a
 * connection midway.
 */
export interface SocketBindings extends HttpBindings {
  write: WriteAnswer
  cut: () => void
}

/** Answers requests that arrive on a socket. */
export type Fetch = (request: Request, bindings: SocketBindings) => Promise<Response> | Response

export interface ListenerOptions {
  host: string
  port: number
  limits?: ConnectionLimits
  /** Answers until `serve` is called. */
  starting?: Fetch
}

/**
 * A listening socket that gets its application later, because the public address contains the port, which the system
 * may choose.
 */
export class Listener {
  readonly host: string
  readonly port: number
  readonly #server: Server
  readonly #connections = new OpenList<Socket>()
  /** Answers in flight. */
  readonly #open = new OpenList<ServerResponse>()
  /** Those of them that had to wait for earlier answers of their connection. */
  readonly #queued = new WeakMap<Socket, OpenList<ServerResponse>>()
  /** Connections that accept no further request. */
  readonly #ending = new WeakSet<Socket>()
  #closed: Promise<void> | null = null
  #endsIdle = false
  readonly #limits: ConnectionLimits
  #fetch: Fetch

  private constructor(
    host: string,
    server: Server,
    { starting, limits }: Required<Pick<ListenerOptions, 'starting' | 'limits'>>,
  ) {
    this.#fetch = starting
    this.#limits = limits
    this.host = host
    this.#server = server
    server.on('connection', socket => socket.once('close', this.#connections.add(socket)))
    this.port = (server.address() as AddressInfo).port
  }

  /** Port 0 lets the system choose. Rejects with Node's own error (`EADDRINUSE`) if the port is taken. */
  static async open({
    host,
    port,
    limits = connectionLimits,
    starting = answerStarting(),
  }: ListenerOptions): Promise<Listener> {
    let listener: Listener | null = null
    const answer = getRequestListener(
      (request, bindings) => (listener as Listener).#answer(request, bindings as HttpBindings),
      { overrideGlobalObjects: false, errorHandler: refused },
    )
    const options = {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      maxHeaderSize: limits.headerBytes,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: limits.checkMs,
      highWaterMark: limits.aheadBytes,
    }
    const server = createServer(options, answer)
    server.maxConnections = limits.connections
    server.listen(port, host)
    await once(server, 'listening')
    listener = new Listener(host, server, { starting, limits })
    return listener
  }

  serve(fetch: Fetch): void {
    this.#fetch = fetch
  }

  #answer(request: Request, bindings: HttpBindings): Promise<Response> | Response {
    const { socket } = bindings.incoming
    // Its connection ends with the previous answer, so this answer could be paid for but never delivered. After this
    // mark the adapter writes none.
    if (this.#ending.has(socket) || this.#isCut(socket)) throw written
    // This server speaks only HTTP/1.1.
    const response = bindings.outgoing as ServerResponse
    const answered = this.#open.add(response)
    const dequeued = response.socket ? null : this.#queue(socket, response)
    response.once('close', () => {
      answered()
      dequeued?.()
      if (this.#endsIdle) this.#server.closeIdleConnections()
    })
    response.once('prefinish', () => this.#limitReading(response))
    if (this.#closed) this.#endAfter(socket, response)
    const answer = this.#fetch(request, socketBindings(bindings))
    return answer instanceof Promise ? answer.then(unlessWritten) : unlessWritten(answer)
  }

  /** Cuts the connection of an answer that is complete, if its reader takes nothing of what is left for too long. */
  #limitReading(response: ServerResponse): void {
    if (!response.socket?.writableLength) return
    response.setTimeout(this.#limits.readerMs)
    // Before Node sets its limit for an idle connection.
    response.prependOnceListener('finish', () => response.setTimeout(0))
  }

  /** Cuts a connection with too many answers that wait: its sender may read none, and each would be made and kept. */
  #isCut(socket: Socket): boolean {
    const isFull = (this.#queued.get(socket)?.size ?? 0) >= this.#limits.queued
    if (isFull) socket.destroy()
    return isFull
  }

  /**
   * Node 22 never closes an answer whose connection ends before its turn. It would stay open, and its call would not
   * learn that the caller has left.
   */
  #queue(socket: Socket, response: ServerResponse): () => void {
    const known = this.#queued.get(socket)
    if (known) return known.add(response)
    const queue = new OpenList<ServerResponse>()
    this.#queued.set(socket, queue)
    socket.once('close', () => {
      for (const waiting of queue.all()) if (!waiting.socket) closeUnsent(waiting)
    })
    return queue.add(response)
  }

  /** Its headers say `Connection: close`, and Node closes the connection after it. */
  #endAfter(socket: Socket, response: ServerResponse): void {
    response.shouldKeepAlive = false
    this.#ending.add(socket)
  }

  /**
   * Accepts no new connections, lets answers in flight end, and closes those that have not ended by then. A connection
   * that was promised to stay open may have a request on its way, so it gets one more answer, which ends it; an idle one
   * is kept for a moment for this.
   */
  close(graceMs = drainMs): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async #close(graceMs: number): Promise<void> {
    const closed = once(this.#server, 'close')
    // Node's HTTP server would end idle connections at once.
    NetServer.prototype.close.call(this.#server)
    // Only the newest answer of a connection may end it.
    const newest = new Map(this.#open.all().map(response => [response.req.socket, response]))
    for (const [socket, response] of newest) if (!response.headersSent) this.#endAfter(socket, response)
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs)
    await Promise.race([closed, sleep(Math.min(lingerMs, graceMs))])
    this.#endsIdle = true
    this.#server.close()
    // To Node, one that was opened ahead, as browsers do, is not idle before its first request.
    for (const socket of this.#connections.all()) if (socket.bytesRead === 0) socket.destroy()
    await closed
    clearTimeout(cut)
  }
}

const socketBindings = ({ incoming, outgoing }: HttpBindings): SocketBindings => ({
  incoming,
  outgoing,
  write(status, headers, body) {
    outgoing.writeHead(status, listed(headers))
    if (typeof body === 'string' || body instanceof Uint8Array) outgoing.end(body)
    else void writePulled(outgoing as ServerResponse, body)
    return written
  },
  cut: () => void outgoing.destroy(),
})

/**
 * A mark in place of an answer that `write` has written, because a real `Response` would load Node's `fetch`. To a HEAD
 * request Hono answers with a copy of it; the adapter writes no answer that has this header.
 */
const written = { status: 200, headers: { 'x-hono-already-sent': 'true' } } as unknown as Response

/**
 * Throws the mark, because the adapter would read the headers of an answer that is returned. It writes nothing if its
 * error handler, `refused`, returns nothing.
 */
function unlessWritten(answer: Response): Response {
  if (answer === written) throw written
  return answer
}

function refused(error: unknown): Response | undefined {
  if (error === written) return undefined
  return new Response(null, { status: error instanceof RequestError ? 400 : 500 })
}

function closeUnsent(response: ServerResponse): void {
  if (response.destroyed) return
  response.destroy()
  response.emit('close')
}

/** Names and values in turn, which Node writes as they are; it would copy an object first. */
function listed(headers: ReadonlyMap<string, string>): string[] {
  const list: string[] = []
  for (const [name, value] of headers) list.push(name, value)
  return list
}

export interface StartingOptions {
  vendor?: string | undefined
  clock?: Clock
}

/**
 * Answers requests that arrive before the service is ready: a 503 in the shape and with the headers of every refusal.
 */
export const answerStarting =
  ({ vendor = defaultVendor, clock = systemClock }: StartingOptions = {}) =>
  (request: Request, { write }: Partial<SocketBindings> = {}): Promise<Response> => {
    const exchange = new Exchange({
      requestId: uuidV7(clock.now()),
      address: '',
      signal: request.signal,
      write: write ?? null,
      vendor,
      requestHeaders: name => [request.headers.get(name) ?? []].flat(),
    })
    setCommonHeaders(exchange, { clock })
    exchange.set(hostName, hostname())
    exchange.set(retryAfter, startingRetrySeconds)
    const { status, body } = refusalOf(new URL(request.url).pathname)
    return sendJson(exchange, status, body)
  }

const refusalOf = (path: string) =>
  path === `${basePath}${topUp.path}`
    ? topUpUnavailable({
        error: 'X402_TOP_UP_UNAVAILABLE',
        message: `The service is starting; the payment was not accepted yet. Send the same request again in ${startingRetrySeconds} seconds; do not sign a new payment.`,
      })
    : serviceStarting()

export interface ConnectionLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  checkMs: number
  headerBytes: number
  idleMs: number
  connections: number
  /** Bytes of an answer, and of a request, that may wait in a socket before its sender is held back. */
  aheadBytes: number
  /** How long a reader may take nothing of a complete answer; Node notices within twice this time. */
  readerMs: number
  /** Answers that may wait for earlier ones of their connection. */
  queued: number
}

/** Slow senders must not keep sockets: headers within 15 s, a whole request (35 MB of video input) within 60 s. */
export const connectionLimits: ConnectionLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  /** How often both are checked; with Node's own 30 s, fifteen seconds could become forty-five. */
  checkMs: 5_000,
  /** Twice the size of a sign-in and a payment header together. */
  headerBytes: 32 * 1024,
  /**
   * Idle connections stay open longer than clients and nginx keep theirs (60 s): if this end closes first, a request may
   * already be on its way, and its sender cannot know whether it was started.
   */
  idleMs: 65_000,
  connections: 10_000,
  /** With Node's default of 64 KB, a stalled reader would take more than its limit of 256 KB. */
  aheadBytes: 16 * 1024,
  readerMs: readerPatienceMs,
  /** Node takes a thousand small requests from one piece of a connection; programs that do not wait send some ten. */
  queued: 64,
}

/**
 * Other proxies keep idle connections longer: Traefik 90 s, Caddy 120 s, Google's load balancer 600 s, Cloudflare 900 s,
 * Envoy an hour.
 */
export const connectionLimitsBehindProxies: ConnectionLimits = { ...connectionLimits, idleMs: 65 * minuteMs }

/** Retry delay while a service is starting, which takes a second or two. */
const startingRetrySeconds = 2

/** How long a stopping service keeps an idle connection for a request on its way: more than a round trip nearby. */
const lingerMs = 30

/** How long a stopping service waits for answers in flight. */
export const drainMs = 30_000
