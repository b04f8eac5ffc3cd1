import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Upstream {
  baseUrl: string
  /** Requests as they came. */
  seen: { headers: IncomingMessage['headers']; url: string; body: Record<string, unknown> }[]
  /** Resolves when a client has left an answer before its end. */
  left: Promise<void>
  connections(): number
  close(): Promise<void>
}

/** A real server on loopback that answers every request the same way. */
export async function upstream(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<Upstream> {
  const seen: Upstream['seen'] = []
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  let connections = 0
  const server: Server = createServer(async (request, response) => {
    response.on('close', () => !response.writableFinished && leave())
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = await bodyOf(request.headers['content-type'] ?? '', Buffer.concat(pieces))
    seen.push({ headers: request.headers, url: request.url ?? '', body })
    answer(response, request)
  })
  server.on('connection', () => connections++)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1/`,
    seen,
    left,
    connections: () => connections,
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

/** JSON, or the fields of a form; one that comes more than once as a list. */
async function bodyOf(type: string, bytes: Buffer): Promise<Record<string, unknown>> {
  if (!type.startsWith('multipart/form-data')) return JSON.parse(bytes.toString())
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  return Object.fromEntries(
    [...new Set(form.keys())].map(name => {
      const values = form.getAll(name)
      return [name, values.length > 1 ? values : values[0]]
    }),
  )
}

export const asJson =
  (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }

/** Sends the pieces one after the other, each in a packet of its own. */
export const asEvents =
  (pieces: readonly (string | Buffer)[], { end = true }: { end?: boolean } = {}) =>
  async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.socket?.setNoDelay()
    for (const piece of pieces) {
      await new Promise<void>(resolve => response.write(piece, () => setImmediate(resolve)))
    }
    if (end) response.end()
  }

export const chunk = (content: string, more: object = {}) => ({
  id: 'up-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'engine-model',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
})
export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const finish = { ...chunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
export const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
export const completion = {
  id: 'up-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'engine-model',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
  usage,
}
