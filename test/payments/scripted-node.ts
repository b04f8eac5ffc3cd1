import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Question {
  method: string
  params: readonly unknown[]
}

/** What a node says: its result, its error, or null where it breaks off. */
export type Said = { result: unknown } | { error: { code: number; message: string; data?: unknown } } | null

/** A node that says what it is told to say, and knows no chain. */
export async function startScriptedNode(say: (question: Question) => Said) {
  const asked: Question[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method, params = [] } = JSON.parse(text) as Partial<Question> & { id: number }
    const question = { method: String(method), params }
    asked.push(question)
    const said = say(question)
    if (said) response.end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
    else response.socket?.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
