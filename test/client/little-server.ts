import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { localServer } from '../local-server.ts'

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
  const server = await localServer(async (request, response) => {
    const body = (await buffer(request)).toString()
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    seen.push(one)
    await handler(one, response, seen.length)
  })
  return {
    seen,
    origin: server.url,
    baseUrl: `${server.url}/api/v1`,
    close: server.close,
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
