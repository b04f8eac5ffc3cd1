import { completion } from '../engines/openai/upstream.ts'
import { localServer } from '../local-server.ts'

/** A server as Ollama and its like are: it lists models and answers chats. */
export async function modelServer(listed?: { status: number; text: string }) {
  const asked: { model: string }[] = []
  const server = await localServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (listed) {
      response.writeHead(listed.status, listed.status === 302 ? { location: 'http://127.0.0.1:1/' } : {})
      return void response.end(listed.text)
    }
    if (request.method === 'GET') {
      const data = [
        { id: 'llama3.2:latest', max_model_len: 4096 },
        { id: 'Qwen/Qwen3-8B', meta: null },
        { id: 'nomic-embed-text' },
        { id: 'demo-chat' },
      ]
      return void response.end(JSON.stringify({ object: 'list', data }))
    }
    let text = ''
    for await (const piece of request) text += piece
    asked.push(JSON.parse(text))
    response.end(JSON.stringify(completion))
  })
  return {
    asked,
    port: server.port,
    close: server.close,
  }
}
