import type { ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Clock } from '#contract/time.ts'
import { localServer } from '../local-server.ts'

export interface SeenRequest {
  /** The name without `.localhost` and port. */
  host: string
  method: string
  /** Without its query. */
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names and values in turn, doubled headers too. */
  rawHeaders: readonly string[]
  body: string
  /** By the wallet's clock. */
  atMs: number
}

export type Play = (seen: SeenRequest, response: ServerResponse) => void | Promise<void>

/** Any number of hosts on one port of loopback, told apart by name; keeps whatever reaches one of them. */
export interface HostileHosts {
  seen: SeenRequest[]
  url(host: string, path: string): string
  close(): Promise<void>
}

export async function hostileHosts(clock: Clock, play: Play): Promise<HostileHosts> {
  const seen: SeenRequest[] = []
  const server = await localServer(async (request, response) => {
    const body = (await buffer(request).catch(() => Buffer.alloc(0))).toString()
    const { headers, rawHeaders, method = '', url = '' } = request
    const host = (headers.host ?? '').replace(/\.localhost(:\d+)?$/, '')
    const path = url.split('?')[0] ?? ''
    const one = { host, method, path, headers, rawHeaders, body, atMs: clock.now() }
    seen.push(one)
    // Its clock is the wallet's, so that moving time is not what the wallet refuses.
    response.setHeader('date', new Date(clock.now()).toUTCString())
    await play(one, response)
  })
  return {
    seen,
    url: (host, path) => `http://${host}.localhost:${server.port}${path}`,
    close: server.close,
  }
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string | string[]> = {},
): void {
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers })
  response.end(isText ? body : JSON.stringify(body))
}
