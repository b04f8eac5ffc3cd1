import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { httpLimits, messageBytes } from './bounds.ts'
import { ExchangeDeliveries } from './exchange-deliveries.ts'
import { logFault } from './fault-log.ts'
import { refuse } from './http-door.ts'
import { type HttpSessions, httpSessions } from './http-sessions.ts'
import type { Frame } from './open-frame.ts'

/** Requests that were let in. Of newer protocols each has a server of its own; older ones have one for a session. */
export class HttpExchanges {
  readonly #onerror: (error: Error) => void
  readonly #handler: ReturnType<typeof createMcpHandler>
  readonly #sessions: HttpSessions
  readonly #answer: ReturnType<typeof toNodeHandler>
  /** Numbers of requests are the clients' own, so what waits for one exchange may not meet what waits for another. */
  readonly #deliveries = new AsyncLocalStorage<ExchangeDeliveries>()
  readonly #open = new Set<Promise<unknown>>()
  #isStopping = false
  #isCut = false

  constructor(frame: Frame) {
    const onerror = (error: Error) => void logFault(frame.log, 'transport', error)
    this.#onerror = onerror
    this.#handler = createMcpHandler(
      ({ era }) => frame.serverFor(this.#deliveries.getStore() ?? new ExchangeDeliveries(), era),
      { onerror, maxSubscriptions: httpLimits.subscriptions, maxRequestBodySize: messageBytes },
    )
    const deliveries = {
      expect: (id: string | number, runs: readonly (() => void)[]) => this.#deliveries.getStore()?.expect(id, runs),
      forget() {},
    }
    this.#sessions = httpSessions(() => frame.serverFor(deliveries, 'legacy'), frame.clock, onerror)
    const fetch = async (asked: Request) => (await this.#sessions.fetch(asked)) ?? this.#handler.fetch(asked)
    this.#answer = toNodeHandler({ fetch }, { onerror, maxRequestBodySize: messageBytes })
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isStopping || this.#open.size >= httpLimits.exchanges) {
      response.setHeader('retry-after', '1')
      refuse(response, 503, this.#isStopping ? 'This server is stopping.' : 'Too many requests are under way here.')
      return
    }
    const deliveries = new ExchangeDeliveries()
    response.once('finish', () => this.#noteWritten(deliveries, response))
    const answered = this.#deliveries.run(deliveries, () => this.#answer(request, response)).catch(this.#onerror)
    // A stream of notifications ends with its server, so nobody waits for it.
    if (request.method === 'GET' || request.headers['mcp-method'] === 'subscriptions/listen') return
    const ended = answered.then(() => written(response)).finally(() => this.#open.delete(ended))
    this.#open.add(ended)
  }

  /** Takes no more, and resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.allSettled(this.#open)
  }

  /** Aborts what is still under way. */
  async cut(): Promise<void> {
    this.#isCut = true
    await Promise.all([this.#handler.close(), this.#sessions.close()])
  }

  #noteWritten(deliveries: ExchangeDeliveries, { statusCode }: ServerResponse): void {
    // An answer that was cut off ends as well; it is safer to give a result twice than never.
    if (this.#isCut || statusCode !== 200) return
    try {
      deliveries.written()
    } catch (error) {
      // The client has it; that it could not be noted is no reason to tell it again.
      this.#onerror(error as Error)
    }
  }
}

async function written(response: ServerResponse): Promise<void> {
  if (!response.writableFinished && !response.destroyed) await once(response, 'close')
}
