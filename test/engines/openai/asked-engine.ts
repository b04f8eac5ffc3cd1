import type { IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { type ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { UpstreamOptions } from '#engines/http/upstream-options.ts'
import { OpenAiChat } from '#engines/openai/chat.ts'
import type { ChatCall } from '#engines/ports/engine.ts'
import { type Upstream, upstream } from './upstream.ts'

export type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** Opens engines of a class, each with a server that answers like this; both are closed after the test. */
export const engines =
  <Engine extends { close(): Promise<void> }, Options extends UpstreamOptions>(
    Made: new (options: Options) => Engine,
  ) =>
  async (answer: Answer, options: Partial<Options> = {}): Promise<[Engine, Upstream]> => {
    const server = await upstream(answer)
    const engine = new Made({ baseUrl: server.baseUrl, ...options } as Options)
    onTestFinished(async () => {
      await engine.close()
      await server.close()
    })
    return [engine, server]
  }

export const engineFor = engines(OpenAiChat)

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
