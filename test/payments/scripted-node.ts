import { localServer } from '../local-server.ts'

export interface Question {
  method: string
  params: readonly unknown[]
}

/** What a node says: its result, its error, or null where it breaks off. */
export type Said = { result: unknown } | { error: { code: number; message: string; data?: unknown } } | null

/** A node that says what it is told to say, and knows no chain. */
export async function startScriptedNode(say: (question: Question) => Said) {
  const asked: Question[] = []
  const server = await localServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method, params = [] } = JSON.parse(text) as Partial<Question> & { id: number }
    const question = { method: String(method), params }
    asked.push(question)
    const said = say(question)
    if (said) response.end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
    else response.socket?.destroy()
  })
  return {
    url: server.url,
    asked,
    close: server.close,
  }
}
