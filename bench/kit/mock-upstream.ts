import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sameName } from './product.ts'

/** As long as a typical short answer. */
const answer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-9f2b6c1d8e7a4053',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: sameName,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'The tide turns twice a day because the Earth turns below two bulges of water.',
        },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 24, completion_tokens: 17, total_tokens: 41 },
  }),
)

const event = (choices: readonly object[], more: object = {}): Buffer => {
  const data = {
    id: 'chatcmpl-9f2b6c1d8e7a4053',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: sameName,
  }
  return chunked(`data: ${JSON.stringify({ ...data, choices, ...more })}\n\n`)
}

const chunked = (text: string): Buffer => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)

/** The text of every event; a caller counts events by it. */
export const eventText = ' tick'
const tick = event([{ index: 0, delta: { content: eventText }, finish_reason: null }])
/**
 * An event padded as some engines do to hide the lengths of their tokens: it fills the buffers of two connections, some
 * megabytes, before any token limit is reached.
 */
const padded = event([{ index: 0, delta: { content: eventText }, finish_reason: null }], {
  obfuscation: 'x'.repeat(2_000),
})
/** The engine's final usage, as for a long stream. */
export const tokensReported = 500
const ending = Buffer.concat([
  event([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  event([], { usage: { prompt_tokens: 24, completion_tokens: tokensReported, total_tokens: 24 + tokensReported } }),
  chunked('data: [DONE]\n\n'),
  Buffer.from('0\r\n\r\n'),
])

interface Stream {
  number: number
  response: ServerResponse
  dueMs: number
}

/**
 * An engine that costs as little as possible, in the load's process, so that it knows when it wrote the event that a
 * caller receives. A chat whose text says `Stream 7.` gets the events of stream 7, any other the same short answer.
 */
export class MockUpstream {
  readonly #server: Server
  readonly #streams = new Set<Stream>()
  /** Streams that are connected. */
  readonly #open = new Set<ServerResponse>()
  /** When each event of a stream was written, by its number. */
  readonly sentAtMs = new Map<number, number[]>()
  #timer: NodeJS.Timeout | undefined
  #intervalMs = 10
  #isEnding = false
  /** Streams that get events as fast as their reader takes them, with their bytes so far. */
  floodBytes = 0

  private constructor() {
    this.#server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => this.#answer(request, response))
  }

  static async start(): Promise<MockUpstream> {
    const upstream = new MockUpstream()
    upstream.#server.listen(0, '127.0.0.1')
    await once(upstream.#server, 'listening')
    return upstream
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Streams that still have a reader, or are kept from ending. */
  get open(): number {
    return this.#open.size
  }

  /** Lets streams be opened from now on, each with this many events per second. */
  startStreams(eventsPerSecond: number): void {
    this.#intervalMs = 1000 / eventsPerSecond
    this.sentAtMs.clear()
    this.#isEnding = false
  }

  /** Ends every stream as an engine does, with its usage; also those whose request a busy server has not sent yet. */
  endStreams(): void {
    this.#isEnding = true
    for (const { response } of this.#streams) response.socket?.end(ending)
    this.#streams.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      const [, number] = /Stream (\d+)\./.exec(text) ?? []
      if (text.includes('Flood.')) this.#flood(response)
      else if (number !== undefined) this.#begin(Number(number), response)
      else {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
        response.end(answer)
      }
    })
  }

  /** The connection ends with its stream and says so, because a gateway that reused it would fail. */
  #begin(number: number, response: ServerResponse): void {
    this.#head(response)
    if (this.#isEnding) return void response.socket?.end(ending)
    // Spread over the interval, as callers arrive.
    const stream = { number, response, dueMs: performance.now() + Math.random() * this.#intervalMs }
    this.sentAtMs.set(number, [])
    this.#streams.add(stream)
    response.on('close', () => this.#streams.delete(stream))
    this.#timer ??= setTimeout(() => this.#tick(), 1)
  }

  #tick(): void {
    for (const stream of this.#streams) {
      const now = performance.now()
      for (; stream.dueMs <= now; stream.dueMs += this.#intervalMs) {
        stream.response.socket?.write(tick)
        this.sentAtMs.get(stream.number)?.push(now)
      }
    }
    this.#timer = setTimeout(() => this.#tick(), 1)
  }

  #head(response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'transfer-encoding': 'chunked',
      connection: 'close',
    })
    response.flushHeaders()
    response.socket?.setNoDelay(true)
    this.#open.add(response)
    response.on('close', () => this.#open.delete(response))
  }

  #flood(response: ServerResponse): void {
    this.#head(response)
    const many = Buffer.concat(new Array(64).fill(padded))
    const write = () => {
      while (!response.destroyed && response.socket) {
        this.floodBytes += many.length
        if (!response.socket.write(many)) {
          response.socket.once('drain', write)
          return
        }
      }
    }
    write()
  }
}
