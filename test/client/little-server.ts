import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface Seen {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export type Handler = (seen: Seen, response: ServerResponse, count: number) => void | Promise<void>

/** A real server on loopback that does what a test says and keeps what it was asked. */
export async function littleServer(handler: Handler) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString()
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    seen.push(one)
    await handler(one, response, seen.length)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    seen,
    origin: `http://127.0.0.1:${port}`,
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
