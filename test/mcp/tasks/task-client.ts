import { z } from 'zod'
import { token } from '../open-http.ts'

const revision = '2026-07-28'
export const tasksExtension = 'io.modelcontextprotocol/tasks'

const Answer = z.object({
  result: z.record(z.string(), z.any()).optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
})
export type RpcAnswer = z.infer<typeof Answer>

export interface TaskClient {
  /** Throws for nothing that a server may answer. */
  send(method: string, params: Record<string, unknown>): Promise<RpcAnswer>
  /** The result, or an error that fails the test. */
  ask(method: string, params: Record<string, unknown>): Promise<NonNullable<RpcAnswer['result']>>
}

export interface Declared {
  tasks?: boolean
  elicitation?: boolean
}

/** JSON-RPC by hand over HTTP, as the SDK's client knows nothing of tasks; each request declares what it can. */
export function taskClient(url: string, { tasks = true, elicitation = true }: Declared = {}): TaskClient {
  let id = 0
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'script', version: '0' },
    'io.modelcontextprotocol/clientCapabilities': {
      ...(elicitation ? { elicitation: { form: {} } } : {}),
      ...(tasks ? { extensions: { [tasksExtension]: {} } } : {}),
    },
  }

  async function send(method: string, params: Record<string, unknown>): Promise<RpcAnswer> {
    id += 1
    const name = params.name ?? params.taskId
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        'mcp-method': method,
        ...(typeof name === 'string' ? { 'mcp-name': headerForm(name) } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }),
    })
    return Answer.parse(JSON.parse(lastMessage(await response.text())))
  }

  return {
    send,
    async ask(method, params) {
      const { result, error } = await send(method, params)
      if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
      return result
    },
  }
}

/** What a header cannot carry as it is goes in the form that the protocol has for it. */
const headerForm = (value: string): string =>
  /^[\x21-\x7e]+$/.test(value) && !value.startsWith('=?')
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`

/** An answer is one body of JSON, or a stream of events whose last is the result. */
export const lastMessage = (body: string): string =>
  body.startsWith('{')
    ? body
    : (body
        .split('\n')
        .findLast(line => line.startsWith('data: {'))
        ?.slice(6) ?? '{}')
