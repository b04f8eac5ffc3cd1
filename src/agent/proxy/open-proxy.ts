import { openLoopbackServer } from '../loopback/loopback-server.ts'
import { proxyDrainMs } from './bounds.ts'
import { type ProxyOptions, proxyAnswer } from './proxy-answer.ts'

export interface Proxy {
  /** What a client of OpenAI takes as its base URL. */
  url: string
  /** Takes no more requests, and lets running answers end for a moment. */
  close(): Promise<void>
}

/** Listens on this machine alone; port 0 lets the system choose. Rejects with Node's own error where the port is taken. */
export async function openProxy({ port, ...options }: ProxyOptions & { port: number }): Promise<Proxy> {
  const server = await openLoopbackServer(port, (request, ours) => proxyAnswer(request, ours, options))
  return { url: `http://127.0.0.1:${server.port}/v1`, close: () => server.close(proxyDrainMs) }
}
