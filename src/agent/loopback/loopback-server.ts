import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { loopbackConnections, loopbackServerOptions } from '#toolkit/bounds.ts'

export interface LoopbackServer {
  port: number
  /** Stops accepting requests, and lets answers in flight finish within this time. */
  close(graceMs: number): Promise<void>
}

/** Opens a server on loopback; port 0 lets the system choose. Rejects with Node's own error if the port is taken. */
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
