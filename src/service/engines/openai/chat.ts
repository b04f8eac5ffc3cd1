import { Agent, type Dispatcher, request as send } from 'undici'
import type { ChatCompletion, ChatCompletionChunk } from '#contract/chat.ts'
import { type Clock, systemClock } from '#contract/clock.ts'
import { ServiceError } from '#contract/service-error.ts'
import * as bounds from '../bounds.ts'
import type { ChatCall, ChatEngine } from '../engine.ts'
import { EventReader } from './event-reader.ts'
import { type Forwarding, forwardedRequest } from './forwarded-request.ts'
import { readChunk, readCompletion, readObject } from './read-answer.ts'
import { codeOf, eventError, refusalError, transportError } from './upstream-error.ts'

export interface OpenAiChatOptions {
  /** As its clients know it, with the version: `http://127.0.0.1:11434/v1`. */
  baseUrl: string
  /** Names the environment variable that holds the key; none where the server wants none. */
  apiKeyVariable?: string
  environment?: NodeJS.ProcessEnv
  lengthMember?: Forwarding['lengthMember']
  timeouts?: Partial<EngineTimeouts>
  clock?: Clock
  /** What went wrong with the server, without a word of it: for a log. */
  onProblem?: (problem: EngineProblem) => void
}

export interface EngineTimeouts {
  connectMs: number
  firstByteMs: number
  answerMs: number
  silenceMs: number
  streamMs: number
}

export interface EngineProblem {
  host: string
  status: number | null
  code: string
}

type Response = Dispatcher.ResponseData

/** Any server that speaks OpenAI's chat completions. */
export class OpenAiChat implements ChatEngine {
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #lengthMember: Forwarding['lengthMember']
  readonly #timeouts: EngineTimeouts
  readonly #clock: Clock
  readonly #onProblem: (problem: EngineProblem) => void
  readonly #agent: Agent

  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: OpenAiChatOptions) {
    const { connectMs, firstByteMs, answerMs, silenceMs, streamMs } = bounds
    this.#url = completionsUrl(options.baseUrl)
    this.#headers = { 'content-type': 'application/json', ...authorization(options, this.#url.host) }
    this.#lengthMember = options.lengthMember ?? 'max_tokens'
    this.#timeouts = { connectMs, firstByteMs, answerMs, silenceMs, streamMs, ...options.timeouts }
    this.#clock = options.clock ?? systemClock
    this.#onProblem = options.onProblem ?? (() => undefined)
    this.#agent = new Agent({
      connections: bounds.connectionsPerEngine,
      keepAliveTimeout: bounds.idleConnectionMs,
      connect: { timeout: this.#timeouts.connectMs },
    })
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    const deadline = AbortSignal.timeout(this.#timeouts.answerMs)
    try {
      const response = await this.#send(call, false, AbortSignal.any([call.signal, deadline]))
      const value = readObject(await readText(response, bounds.answerBytes))
      if (value?.error && !value.choices) throw eventError(value.error, call.request)
      const completion = value && readCompletion(value, this.#nowSeconds())
      if (!completion) throw new Error('The engine answered no chat completion.')
      return completion
    } catch (error) {
      throw this.#known(error, call.signal)
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    const abort = new AbortController()
    const deadline = AbortSignal.timeout(this.#timeouts.streamMs)
    let response: Response | null = null
    let isDone = false
    let isFinished = false
    try {
      response = await this.#send(call, true, AbortSignal.any([call.signal, deadline, abort.signal]))
      for await (const data of eventsOf(response.body)) {
        isDone = data === '[DONE]'
        if (isDone) break
        const chunk = this.#chunk(data, call)
        isFinished ||= chunk.choices.some(choice => choice.finish_reason)
        yield chunk
      }
      if (!isDone && !isFinished) throw new Error('The engine broke off its stream.')
    } catch (error) {
      throw this.#known(error, call.signal)
    } finally {
      // Once it is done its connection may serve the next call; ended in any other way the upstream call ends here.
      if (isDone) linger(response)
      else abort.abort()
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #send(call: ChatCall, stream: boolean, signal: AbortSignal): Promise<Response> {
    const response = await send(this.#url, {
      method: 'POST',
      headers: { ...this.#headers, accept: stream ? 'text/event-stream' : 'application/json' },
      body: JSON.stringify(forwardedRequest(call, { stream, lengthMember: this.#lengthMember })),
      dispatcher: this.#agent,
      signal,
      headersTimeout: stream ? this.#timeouts.firstByteMs : this.#timeouts.answerMs,
      bodyTimeout: this.#timeouts.silenceMs,
    })
    // A body that is left before its end reports that as an error, which nobody waits for.
    response.body.on('error', () => undefined)
    if (response.statusCode !== 200) throw await this.#refused(response, call)
    const type = String(response.headers['content-type'] ?? '')
    if (!(stream ? /^text\/event-stream\b/i : /^application\/([\w.-]+\+)?json\b/i).test(type)) {
      response.body.destroy()
      throw new Error('The engine answered with another type of content.')
    }
    return response
  }

  async #refused(response: Response, call: ChatCall): Promise<ServiceError> {
    const { statusCode: status, headers } = response
    this.#onProblem({ host: this.#url.host, status, code: '' })
    const text = await readText(response, bounds.refusalBytes).catch(() => '')
    const retryAfter = typeof headers['retry-after'] === 'string' ? headers['retry-after'] : undefined
    return refusalError({ status, retryAfter, body: readObject(text) }, call.request)
  }

  #chunk(data: string, { request }: ChatCall): ChatCompletionChunk {
    const value = readObject(data)
    if (value?.error) throw eventError(value.error, request)
    const chunk = value && readChunk(value, this.#nowSeconds())
    if (!chunk) throw new Error('The engine sent an event that is no chunk.')
    return chunk
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now() / 1000)
  }

  /** Every failure becomes an error of ours; the caller's own abort stays what it is. */
  #known(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof ServiceError) return error
    this.#onProblem({ host: this.#url.host, status: null, code: codeOf(error) })
    return transportError(error)
  }
}

function completionsUrl(baseUrl: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password) {
    throw new Error('An engine’s base URL must be http or https, with no user and no password in it.')
  }
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/chat/completions`
  return base
}

function authorization(options: OpenAiChatOptions, host: string): Record<string, string> {
  const { apiKeyVariable: name, environment = process.env } = options
  if (name === undefined) return {}
  const key = environment[name]
  if (!key || !/^[\x21-\x7e]{1,4096}$/.test(key)) {
    throw new Error(`The engine at ${host} wants its key in ${name}: set that variable to a key without spaces.`)
  }
  return { authorization: `Bearer ${key}` }
}

async function readText(response: Response, most: number): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response.body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > most) throw new Error('The engine’s answer is too large.')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Reads the little that follows the last event; a server that does not end then loses its connection. */
function linger(response: Response | null): void {
  response?.body.dump({ limit: 1024, signal: AbortSignal.timeout(bounds.lingerMs) }).catch(() => undefined)
}

/** Leaving this loop leaves the body readable, so that its end can be awaited. */
async function* eventsOf(body: Response['body']): AsyncGenerator<string> {
  const reader = new EventReader()
  let bytes = 0
  for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bounds.streamBytes) throw new Error('The engine’s stream is too large.')
    yield* reader.push(piece)
  }
  yield* reader.end()
}
