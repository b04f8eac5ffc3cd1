import { randomBytes } from 'node:crypto'
import {
  isInitializeRequest,
  isJSONRPCRequest,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Clock } from '#contract/clock.ts'
import { messageBytes, sessionLimits } from './bounds.ts'

export interface HttpSessions {
  /** The answer within a session; undefined where the request neither names one nor begins one. */
  fetch(request: Request): Promise<Response | undefined>
  close(): Promise<void>
}

interface Session {
  transport: WebStandardStreamableHTTPServerTransport
  lastUsedAtMs: number
}

/**
 * Sessions for clients of protocols before 2026-07, which begin with `initialize`: a server can put a question to their
 * person only on a stream of a session. Newer clients carry all they need with each request and have none.
 */
export function httpSessions(makeServer: () => Server, clock: Clock, onError: (error: Error) => void): HttpSessions {
  /** Least recently used first. */
  const sessions = new Map<string, Session>()

  async function begin(request: Request, parsedBody: unknown): Promise<Response> {
    await makeRoom(sessions, clock.now())
    const transport = new WebStandardStreamableHTTPServerTransport({
      // Whoever knows an id still needs the token; 256 bits keep clients of one owner apart.
      sessionIdGenerator: () => randomBytes(32).toString('base64url'),
      onsessioninitialized: id => void sessions.set(id, { transport, lastUsedAtMs: clock.now() }),
      onsessionclosed: id => void sessions.delete(id),
      maxRequestBodySize: messageBytes,
    })
    transport.onerror = onError
    await makeServer().connect(transport)
    return transport.handleRequest(request, { parsedBody })
  }

  return {
    async fetch(request) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        const body = await initializeBody(request)
        return body === undefined ? undefined : begin(request, body)
      }
      const session = sessions.get(id)
      // By the protocol a client that reads 404 begins a new session.
      if (!session) return sessionNotFound()
      sessions.delete(id)
      sessions.set(id, { ...session, lastUsedAtMs: clock.now() })
      const parsedBody = await jsonBody(request)
      request.signal.addEventListener('abort', () => stopCalls(session.transport, parsedBody), { once: true })
      return session.transport.handleRequest(request, { parsedBody })
    },
    async close() {
      const open = [...sessions.values()]
      sessions.clear()
      await Promise.all(open.map(({ transport }) => transport.close()))
    },
  }
}

/** Ends what nobody uses, and beyond the bound the session whose last request is longest ago. */
async function makeRoom(sessions: Map<string, Session>, nowMs: number): Promise<void> {
  for (const [id, { transport, lastUsedAtMs }] of [...sessions]) {
    if (sessions.size < sessionLimits.open && nowMs - lastUsedAtMs < sessionLimits.idleMs) return
    sessions.delete(id)
    await transport.close()
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

const sessionNotFound = (): Response =>
  Response.json(
    {
      jsonrpc: '2.0',
      error: { code: -32_001, message: 'There is no such session any more; begin a new one.' },
      id: null,
    },
    { status: 404 },
  )
