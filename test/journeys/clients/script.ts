import { z } from 'zod'
import type { Product } from '../../conformance/mcp/spawn-product.ts'
import { lastMessage } from '../../mcp/tasks/task-client.ts'
import { asAnswer, formAnswer, type JourneyClient, type JourneyUser, type Result } from './client.ts'

const revision = '2026-07-28'

const Question = z.object({
  params: z.object({
    message: z.string(),
    requestedSchema: z.object({ properties: z.record(z.string(), z.unknown()) }),
  }),
})
const Answer = z.looseObject({
  result: z
    .looseObject({
      resultType: z.string().optional(),
      inputRequests: z.record(z.string(), Question).optional(),
      requestState: z.string().optional(),
    })
    .optional(),
  error: z.object({ message: z.string() }).optional(),
})

/** JSON-RPC by hand, as a script without a library sends it; a question comes as a result, and its answer with a repeat. */
export function scriptedClient({ url, token }: Product, user: JourneyUser): JourneyClient {
  let id = 0

  async function post(params: Record<string, unknown>) {
    id += 1
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        'mcp-method': 'tools/call',
        'mcp-name': String(params.name),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, _meta: meta } }),
    })
    const { result, error } = Answer.parse(JSON.parse(lastMessage(await response.text())))
    if (!result) throw new Error(error?.message ?? `HTTP ${response.status}`)
    return result
  }

  return {
    async call(name, given) {
      let result = await post({ name, arguments: given })
      while (result.resultType === 'input_required') {
        const inputResponses = Object.fromEntries(
          Object.entries(result.inputRequests ?? {}).map(([key, { params }]) => [
            key,
            formAnswer(user, params.message, Object.keys(params.requestedSchema.properties)),
          ]),
        )
        result = await post({ name, arguments: given, inputResponses, requestState: result.requestState })
      }
      return asAnswer(result as Result)
    },
    async close() {},
  }
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'script', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}
