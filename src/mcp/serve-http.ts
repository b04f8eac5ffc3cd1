import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { loopbackConnections, loopbackServerOptions } from '#toolkit/bounds.ts'
import { httpDrainMs, stopMs } from './bounds.ts'
import { httpPath, letIn } from './http-door.ts'
import { HttpExchanges } from './http-exchanges.ts'
import { type FrameOptions, openFrame } from './open-frame.ts'

export interface ServeHttp extends FrameOptions {
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
  const frame = openFrame(options)
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
