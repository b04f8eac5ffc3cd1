import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { NodeError, nodeCodes } from './executed.ts'
import type { SolanaNode } from './node.ts'
import type { Config, Method } from './rpc-methods.ts'

/** A hundred addresses, or the largest transaction, with much to spare. */
const bodyBytes = 100_000

const Call = z.object({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.array(z.unknown()).optional(),
})

/** JSON-RPC over HTTP, for programs on this machine. */
export function serveNode(node: SolanaNode, methods: Readonly<Record<string, Method>>): Server {
  const server = createServer((request, response) => {
    answerRequest(request, response, node, methods).catch(() => response.destroy())
  })
  // Whoever asks ends an idle connection: one that this end closes may carry a question already.
  server.keepAliveTimeout = 0
  return server
}

async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  node: SolanaNode,
  methods: Readonly<Record<string, Method>>,
): Promise<void> {
  if (!isFromThisMachine(request)) return void response.writeHead(403).end()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytes) return void response.writeHead(413, { connection: 'close' }).end()
    chunks.push(chunk)
  }
  const answer = await answerCall(Buffer.concat(chunks).toString(), node, methods)
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer, numbersOfBigints))
}

/** A page in a browser can neither say this type without being asked for leave, nor name a loopback host of its own. */
function isFromThisMachine({ method, headers }: IncomingMessage): boolean {
  const isJson = headers['content-type']?.startsWith('application/json') ?? false
  return method === 'POST' && isJson && /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? '')
}

async function answerCall(text: string, node: SolanaNode, methods: Readonly<Record<string, Method>>) {
  const parsed = Call.safeParse(parseJson(text))
  if (!parsed.success) return refusal(null, new NodeError(nodeCodes.invalidRequest, 'Invalid request'))
  const { id = null, method, params = [] } = parsed.data
  try {
    const answer = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!answer) throw new NodeError(nodeCodes.methodNotFound, 'Method not found')
    return { jsonrpc: '2.0', result: await answer({ node, params, config: configOf(params) }), id }
  } catch (error) {
    return refusal(id, error instanceof NodeError ? error : new NodeError(-32603, `Internal error: ${String(error)}`))
  }
}

const refusal = (id: unknown, { code, message, data }: NodeError) => ({
  jsonrpc: '2.0',
  error: data === undefined ? { code, message } : { code, message, data },
  id,
})

function configOf(params: readonly unknown[]): Config {
  const last = params.at(-1)
  return typeof last === 'object' && last !== null && !Array.isArray(last) ? (last as Config) : {}
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** No number on this chain is beyond what a double can tell. */
const numbersOfBigints = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)
