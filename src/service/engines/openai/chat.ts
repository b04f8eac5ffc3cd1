import type { ChatCompletion, ChatCompletionChunk } from '#contract/chat.ts'
import { type Clock, systemClock } from '#contract/clock.ts'
import * as bounds from '../bounds.ts'
import type { ChatCall, ChatEngine } from '../engine.ts'
import { EventReader } from './event-reader.ts'
import { type Forwarding, forwardedMembers, forwardedRequest } from './forwarded-request.ts'
import { readChunk, readCompletion, readObject } from './read-answer.ts'
import { askedRunningUsage, RunningUsage, type RunningUsageName } from './running-usage.ts'
import { OpenAiUpstream, type UpstreamResponse } from './upstream.ts'
import { eventError } from './upstream-error.ts'
import type { UpstreamOptions } from './upstream-options.ts'

export interface OpenAiChatOptions extends UpstreamOptions {
  lengthMember?: Forwarding['lengthMember']
  /** Paths of members that pass beside the published ones. */
  passMembers?: readonly string[]
  /** How the server tells in a stream what it used so far; it is not asked to where absent. */
  runningUsage?: RunningUsageName | undefined
  /** What every request says, whatever its caller does. */
  members?: Readonly<Record<string, unknown>>
  /** What turns a model's thinking off, where it takes more than an effort: `{ chat_template_kwargs: { enable_thinking: false } }`. */
  withoutThinking?: Readonly<Record<string, unknown>>
  clock?: Clock
}

/** Any server that speaks OpenAI's chat completions. */
export class OpenAiChat implements ChatEngine {
  readonly #upstream: OpenAiUpstream
  readonly #members: Readonly<Record<string, unknown>>
  readonly #withoutThinking: Readonly<Record<string, unknown>>
  readonly #clock: Clock
  readonly #forwarding: Pick<Forwarding, 'lengthMember' | 'members'>
  readonly #runningUsage: RunningUsageName | undefined
  readonly passMembers: readonly string[]

  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: OpenAiChatOptions) {
    this.#upstream = new OpenAiUpstream(options, '/chat/completions')
    this.passMembers = options.passMembers ?? []
    this.#forwarding = {
      lengthMember: options.lengthMember ?? 'max_tokens',
      members: forwardedMembers(this.passMembers),
    }
    this.#members = options.members ?? {}
    this.#withoutThinking = options.withoutThinking ?? {}
    this.#runningUsage = options.runningUsage
    this.#clock = options.clock ?? systemClock
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    const { request, signal } = call
    try {
      const body = this.#forwarded(call, false)
      const value = await this.#upstream.json({ body, request, signal }, bounds.answerBytes)
      if (value?.error && !value.choices) throw eventError(value.error, request)
      const completion = value && readCompletion(value, this.#nowSeconds())
      if (!completion) throw new Error('The engine answered no chat completion.')
      return completion
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    const { request } = call
    const abort = new AbortController()
    const deadline = AbortSignal.timeout(this.#upstream.timeouts.streamMs)
    let response: UpstreamResponse | null = null
    let isDone = false
    let isFinished = false
    const running = this.#runningUsage && new RunningUsage(this.#runningUsage)
    try {
      const signal = AbortSignal.any([call.signal, deadline, abort.signal])
      response = await this.#upstream.post({ body: this.#forwarded(call, true), request, stream: true, signal })
      for await (const data of eventsOf(response.body)) {
        isDone = data === '[DONE]'
        if (isDone) break
        const chunk = this.#chunk(data, call, running)
        isFinished ||= chunk.choices.some(choice => choice.finish_reason)
        yield chunk
      }
      if (!isDone && !isFinished) throw new Error('The engine broke off its stream.')
    } catch (error) {
      throw this.#upstream.known(error, call.signal)
    } finally {
      // Once it is done its connection may serve the next call; ended in any other way the upstream call ends here.
      if (isDone) linger(response)
      else abort.abort()
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#upstream.close()
  }

  #forwarded(call: ChatCall, stream: boolean): Record<string, unknown> {
    return {
      ...forwardedRequest(call, { stream, ...this.#forwarding }),
      ...(stream ? askedRunningUsage(this.#runningUsage) : {}),
      ...this.#members,
      ...(call.isThinkingOff ? this.#withoutThinking : {}),
    }
  }

  #chunk(data: string, { request }: ChatCall, running: RunningUsage | undefined): ChatCompletionChunk {
    const value = readObject(data)
    if (value?.error) throw eventError(value.error, request)
    const chunk = value && readChunk(running?.read(value) ?? value, this.#nowSeconds())
    if (!chunk) throw new Error('The engine sent an event that is no chunk.')
    return chunk
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}

/** Reads the little that follows the last event; a server that does not end then loses its connection. */
function linger(response: UpstreamResponse | null): void {
  response?.body.dump({ limit: 1024, signal: AbortSignal.timeout(bounds.lingerMs) }).catch(() => undefined)
}

/** Leaving this loop leaves the body readable, so that its end can be awaited. */
async function* eventsOf(body: UpstreamResponse['body']): AsyncGenerator<string> {
  const reader = new EventReader()
  let bytes = 0
  for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bounds.streamBytes) throw new Error('The engine’s stream is too large.')
    yield* reader.push(piece)
  }
  yield* reader.end()
}
