/** A node over HTTP that answers as a test says. */
import { onTestFinished } from 'vitest'
import { localServer } from '../../local-server.ts'

/** What a node answers: a result, or its own refusal; `status` and `body` in place of both where it is ill. */
export type NodeAnswer = { result: unknown } | { error: { code: number } } | { status: number; body: string }

export async function scriptedNode(
  answer: (method: string, params: readonly unknown[]) => NodeAnswer,
): Promise<string> {
  const server = await localServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { method, params } = JSON.parse(text)
    const told = answer(method, params)
    if ('status' in told) response.writeHead(told.status).end(told.body)
    else response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...told }))
  })
  onTestFinished(server.close)
  return server.url
}
