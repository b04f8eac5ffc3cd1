import type { IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { type ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import { OpenAiChat, type OpenAiChatOptions } from '#engines/openai/chat.ts'
import type { ChatCall } from '#engines/ports/engine.ts'
import { type Upstream, upstream } from './upstream.ts'

export type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** An engine before a server that answers like this; both end with the test. */
export async function engineFor(
  answer: Answer,
  options: Partial<OpenAiChatOptions> = {},
): Promise<[OpenAiChat, Upstream]> {
  const server = await upstream(answer)
  const engine = new OpenAiChat({ baseUrl: server.baseUrl, ...options })
  onTestFinished(async () => {
    await engine.close()
    await server.close()
  })
  return [engine, server]
}

export const call = (change: object = {}, rest: Partial<ChatCall> = {}): ChatCall => ({
  request: ChatCompletionRequest.parse({ model: 'public', messages: [{ role: 'user', content: 'hi' }], ...change }),
  engineModel: 'engine-model',
  maxCompletionTokens: 100,
  signal: new AbortController().signal,
  ...rest,
})

/** Reads a stream to its end, whichever it is. */
export async function read(engine: OpenAiChat, asked: ChatCall = call()) {
  const chunks: ChatCompletionChunk[] = []
  let error: unknown = null
  try {
    for await (const each of engine.stream(asked)) chunks.push(each)
  } catch (thrown) {
    error = thrown
  }
  const text = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('')
  return { chunks, text, error }
}
