import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Product } from '../../conformance/mcp/spawn-product.ts'
import { asAnswer, formAnswer, type JourneyClient, type JourneyUser } from './client.ts'

/** The protocol's own client package; an older one has a session, a newer one sends all with each request. */
export async function officialClient(
  { url, token }: Product,
  user: JourneyUser,
  era: 'legacy' | 'modern',
): Promise<JourneyClient> {
  const client = new Client(
    { name: 'official', version: '0' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    },
  )
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    const boxes = 'requestedSchema' in params ? Object.keys(params.requestedSchema.properties) : []
    return formAnswer(user, params.message, boxes)
  })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return {
    call: async (tool, given) => asAnswer(await client.callTool({ name: tool, arguments: given }, { timeout: 90_000 })),
    close: () => client.close(),
  }
}
