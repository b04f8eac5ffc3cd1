import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { proxyDrainMs, proxyLimits } from './bounds.ts'
import { type ProxyOptions, proxyAnswer } from './proxy-answer.ts'

export interface Proxy {
  /** What a client of OpenAI takes as its base URL. */
  url: string
  /** Takes no more requests, and lets running answers end for a moment. */
  close(): Promise<void>
}

/** Listens on this machine alone; port 0 lets the system choose. Rejects with Node's own error where the port is taken. */
export async function openProxy({ port, ...options }: ProxyOptions & { port: number }): Promise<Proxy> {
  const server = createAdaptorServer({
    fetch: request => proxyAnswer(request, portOf(server), options),
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: proxyLimits.headersTimeoutMs,
      requestTimeout: proxyLimits.requestTimeoutMs,
      maxHeaderSize: proxyLimits.headerBytes,
    },
  }) as Server
  server.maxConnections = proxyLimits.connections
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${portOf(server)}/v1`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      const cut = setTimeout(() => server.closeAllConnections(), proxyDrainMs)
      await closed
      clearTimeout(cut)
    },
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port
