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
  /** Answers within a session; undefined if the request neither names nor starts one. */
  fetch(request: Request): Promise<Response | undefined>
  close(): Promise<void>
}

/**
 * Sessions for clients of protocols before 2026-07, which start with `initialize`: their server can ask the user only
 * on a session's stream. Newer clients send everything with each request and have no session.
 */
export function httpSessions(makeServer: () => Server, clock: Clock, onError: (error: Error) => void): HttpSessions {
  const sessions = new OpenSessions(onError)

  async function begin(request: Request, parsedBody: unknown): Promise<Response> {
    if (!sessions.hold(clock.now())) return allBusy()
    let isIn: boolean | undefined
    const transport = new WebStandardStreamableHTTPServerTransport({
      // Knowing an id is no use without the token; 256 bits keep one owner's clients apart.
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
      // By the protocol, a client that gets 404 starts a new session.
      return session ? go(session, request) : sessionNotFound()
    },
    close: () => sessions.close(),
  }
}

/** Returns the parsed body of a request that starts a session in an older protocol. */
async function initializeBody(request: Request): Promise<unknown> {
  if (request.headers.has('mcp-method')) return undefined
  const body = await jsonBody(request)
  return isInitializeRequest(body) && (await isLegacyRequest(request, body)) ? body : undefined
}

/** Undefined if there is no valid JSON; the transport then reports the problem. */
async function jsonBody(request: Request): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  return request
    .clone()
    .json()
    .catch(() => undefined)
}

/** A stream that breaks off is not kept, so the results of its calls could never be delivered. */
function stopCalls(transport: WebStandardStreamableHTTPServerTransport, body: unknown): void {
  for (const { id: requestId } of [body].flat().filter(isJSONRPCRequest)) {
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  }
}

/** Counts a request; the returned function uncounts it once, however often it is called. */
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
 * A server's sessions, up to a limit. A new session reserves a place before anything is created for it. Only when the
 * protocol has accepted it does it evict the least recently used one, so that a refused session evicts none.
 */
class OpenSessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>()
  readonly #onError: (error: Error) => void
  #beginning = 0

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  /** Returns the session with this id and marks it as most recently used. */
  use(id: string, nowMs: number): Session | undefined {
    const session = this.#sessions.get(id)
    if (!session) return undefined
    session.lastUsedAtMs = nowMs
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return session
  }

  /** Reserves a place for a new session; false if every place is reserved or has a call in flight. */
  hold(nowMs: number): boolean {
    this.#endUnused(nowMs)
    const busy = [...this.#sessions.values()].filter(({ inFlight }) => inFlight > 0).length
    if (busy + this.#beginning >= sessionLimits.open) return false
    this.#beginning += 1
    return true
  }

  /** Releases a reserved place, whether or not it was used. */
  letGo(): void {
    this.#beginning -= 1
  }

  /** Adds a session; false if all others have started a call since its place was reserved. */
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

/** Returns the same response, and calls back once when it was read, failed or was abandoned. */
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
