/** A node that says what a test has it say, over HTTP as any other. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** What a node answers: a result, or its own refusal; `status` and `body` in place of both where it is ill. */
export type NodeAnswer = { result: unknown } | { error: { code: number } } | { status: number; body: string }

export async function scriptedNode(
  answer: (method: string, params: readonly unknown[]) => NodeAnswer,
): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { method, params } = JSON.parse(text)
    const told = answer(method, params)
    if ('status' in told) response.writeHead(told.status).end(told.body)
    else response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...told }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
