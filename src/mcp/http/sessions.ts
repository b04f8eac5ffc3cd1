import { randomBytes } from 'node:crypto'
import {
  isInitializeRequest,
  isJSONRPCRequest,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import { messageBytes, sessionLimits } from '../bounds.ts'

export interface HttpSessions {
  /** The answer within a session; undefined where the request neither names one nor begins one. */
  fetch(request: Request): Promise<Response | undefined>
  close(): Promise<void>
}

/**
 * Sessions for clients of protocols before 2026-07, which begin with `initialize`: a server can put a question to their
 * person only on a stream of a session. Newer clients carry all they need with each request and have none.
 */
export function httpSessions(makeServer: () => Server, clock: Clock, onError: (error: Error) => void): HttpSessions {
  const sessions = new OpenSessions(onError)

  async function begin(request: Request, parsedBody: unknown): Promise<Response> {
    if (!sessions.hold(clock.now())) return allBusy()
    let isIn: boolean | undefined
    const transport = new WebStandardStreamableHTTPServerTransport({
      // A known id is useless without the token; 256 bits keep clients of one owner apart.
      sessionIdGenerator: () => randomBytes(32).toString('base64url'),
      onsessioninitialized(id) {
        isIn = sessions.add(id, { transport, lastUsedAtMs: clock.now(), inFlight: 0 })
      },
      onsessionclosed: id => sessions.forget(id),
      maxRequestBodySize: messageBytes,
    })
    transport.onerror = onError
    try {
      await makeServer().connect(transport)
      const response = await transport.handleRequest(request, { parsedBody })
      if (isIn) return response
      await transport.close()
      return isIn === false ? allBusy() : response
    } finally {
      sessions.letGo()
    }
  }

  async function go(session: Session, request: Request): Promise<Response> {
    // A stream of notifications carries no call.
    const ended = request.method === 'GET' ? () => {} : begun(session)
    try {
      const parsedBody = await jsonBody(request)
      request.signal.addEventListener('abort', () => stopCalls(session.transport, parsedBody), { once: true })
      return untilEnded(await session.transport.handleRequest(request, { parsedBody }), ended)
    } catch (error) {
      ended()
      throw error
    }
  }

  return {
    async fetch(request) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        const body = await initializeBody(request)
        return body === undefined ? undefined : begin(request, body)
      }
      const session = sessions.use(id, clock.now())
      // By the protocol a client that reads 404 begins a new session.
      return session ? go(session, request) : sessionNotFound()
    },
    close: () => sessions.close(),
  }
}

/** The parsed body of a request that begins a session in an older protocol. */
async function initializeBody(request: Request): Promise<unknown> {
  if (request.headers.has('mcp-method')) return undefined
  const body = await jsonBody(request)
  return isInitializeRequest(body) && (await isLegacyRequest(request, body)) ? body : undefined
}

/** Undefined where there is none to read; the transport then answers what is wrong with it. */
async function jsonBody(request: Request): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  return request
    .clone()
    .json()
    .catch(() => undefined)
}

/** Nothing is kept of a stream that was cut off, so the results of its calls could never be told. */
function stopCalls(transport: WebStandardStreamableHTTPServerTransport, body: unknown): void {
  for (const { id: requestId } of [body].flat().filter(isJSONRPCRequest)) {
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  }
}

/** Counts a request; what it answers takes it off again, once however often it is called. */
function begun(session: Session): () => void {
  let isInFlight = true
  session.inFlight += 1
  return () => {
    if (isInFlight) session.inFlight -= 1
    isInFlight = false
  }
}

const sessionNotFound = (): Response => refusal(404, -32_001, 'This session has ended; start a new one.')

const allBusy = (): Response =>
  refusal(503, -32_000, `All ${sessionLimits.open} sessions have a call in flight; try again in a moment.`, {
    'retry-after': '1',
  })

const refusal = (status: number, code: number, message: string, headers: Record<string, string> = {}): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })

interface Session {
  transport: WebStandardStreamableHTTPServerTransport
  lastUsedAtMs: number
  /** Requests whose answers have not ended. */
  inFlight: number
}

/**
 * The sessions of a server, never more than their bound. One that begins holds a place from before anything is made for it;
 * only once the protocol has taken it does the session that was unused longest make room, so that a refused one ends none.
 */
class OpenSessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>()
  readonly #onError: (error: Error) => void
  #beginning = 0

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  /** The session of this id, as the one used last. */
  use(id: string, nowMs: number): Session | undefined {
    const session = this.#sessions.get(id)
    if (!session) return undefined
    session.lastUsedAtMs = nowMs
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return session
  }

  /** Holds a place for a session that begins; false where every place has a call in flight or is held. */
  hold(nowMs: number): boolean {
    this.#endUnused(nowMs)
    const busy = [...this.#sessions.values()].filter(({ inFlight }) => inFlight > 0).length
    if (busy + this.#beginning >= sessionLimits.open) return false
    this.#beginning += 1
    return true
  }

  /** Gives back what `hold` gave, whatever has come of it. */
  letGo(): void {
    this.#beginning -= 1
  }

  /** Lets a session in; false where all others have got a call in flight since its place was held. */
  add(id: string, session: Session): boolean {
    if (this.#sessions.size >= sessionLimits.open) {
      const [unused] = [...this.#sessions].find(([, { inFlight }]) => inFlight === 0) ?? []
      if (unused === undefined) return false
      this.#end(unused)
    }
    this.#sessions.set(id, session)
    return true
  }

  forget(id: string): void {
    this.#sessions.delete(id)
  }

  async close(): Promise<void> {
    const open = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(open.map(({ transport }) => transport.close()))
  }

  #endUnused(nowMs: number): void {
    for (const [id, { inFlight, lastUsedAtMs }] of [...this.#sessions]) {
      if (inFlight === 0 && nowMs - lastUsedAtMs >= sessionLimits.idleMs) this.#end(id)
    }
  }

  #end(id: string): void {
    const session = this.#sessions.get(id)
    this.#sessions.delete(id)
    session?.transport.close().catch(this.#onError)
  }
}

/** The same response, which tells once that all of it was read, that it failed or that its reader has left. */
function untilEnded(response: Response, ended: () => void): Response {
  if (!response.body) {
    ended()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        ended()
        controller.close()
      } catch (error) {
        ended()
        throw error
      }
    },
    cancel(reason) {
      ended()
      return reader.cancel(reason)
    },
  })
  return new Response(body, response)
}
