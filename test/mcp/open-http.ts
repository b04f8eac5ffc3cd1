import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type ServeHttp, serveHttp } from '#mcp/http/serve.ts'
import { catalogue } from './catalogue.ts'
import type { Era } from './connect.ts'

/** What clients of a test show. */
export const token = 'a-token-of-the-owner'

/** The real server on a port of its own; `log` has its lines for the operator. */
export async function openHttp(options: Pick<ServeHttp, 'host'> & Partial<ServeHttp>) {
  const log: string[] = []
  const serving = await serveHttp({
    name: 'farebox',
    version: '0.0.0',
    catalogue,
    port: 0,
    isToken: given => given === token,
    log: line => log.push(line),
    ...options,
  })
  return { ...serving, log }
}

/** The SDK's own client over real sockets. */
export async function httpClient(
  url: string,
  era: Era,
  { capabilities = {}, headers = {} }: { capabilities?: ClientCapabilities; headers?: Record<string, string> } = {},
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '0' },
    { capabilities, versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  )
  const shown = { authorization: `Bearer ${token}`, ...headers }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: shown } }))
  return client
}

/** A client of an older protocol and the id of its session. */
export async function sessionOf(url: string): Promise<{ client: Client; sessionId: string }> {
  const client = await httpClient(url, 'legacy')
  const { sessionId = '' } = client.transport as StreamableHTTPClientTransport
  return { client, sessionId }
}
