import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { loopbackConnections, loopbackServerOptions } from '#toolkit/bounds.ts'

export interface LoopbackServer {
  port: number
  /** Takes no more requests, and lets running answers end for so long. */
  close(graceMs: number): Promise<void>
}

/** A server for this machine alone; port 0 lets the system choose. Rejects with Node's own error where the port is taken. */
export async function openLoopbackServer(
  wantedPort: number,
  answer: (request: Request, port: number) => Promise<Response>,
): Promise<LoopbackServer> {
  const portOf = () => (server.address() as AddressInfo).port
  const server = createAdaptorServer({
    fetch: request => answer(request, portOf()),
    overrideGlobalObjects: false,
    serverOptions: loopbackServerOptions,
  }) as Server
  server.maxConnections = loopbackConnections
  server.listen(wantedPort, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: portOf(),
    async close(graceMs) {
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(cut)
    },
  }
}
