import type { UnreadCalls } from '#access/limits/concurrency.ts'
import type { Exchange } from '../exchange.ts'
import type { Work } from '../route.ts'
import { workAfterLeavingMs } from './kept-answer.ts'

/** One piece of work without a key. Once it costs something it ends as if its caller were there, and is charged. */
export class UnkeyedWork implements Work {
  readonly requestId: string
  readonly holdId: string
  readonly signal: AbortSignal
  readonly hasKey = false
  readonly #exchange: Exchange
  readonly #unread: UnreadCalls
  readonly #stop = new AbortController()
  readonly #callerLeft = () => this.#left()
  #goesOn = false
  #timer: NodeJS.Timeout | null = null
  #leaveUnread: (() => void) | null = null

  constructor(exchange: Exchange, unread: UnreadCalls) {
    this.#exchange = exchange
    this.#unread = unread
    this.requestId = exchange.requestId
    this.holdId = exchange.requestId
    this.signal = this.#stop.signal
    const { signal: caller } = exchange
    if (caller.aborted) this.#left()
    else caller.addEventListener('abort', this.#callerLeft, { once: true })
  }

  goOn(): void {
    this.signal.throwIfAborted()
    this.#goesOn = true
    this.#exchange.outlivesCaller = true
  }

  stay(): () => void {
    this.#exchange.outlivesCaller = true
    if (this.signal.aborted) this.#count()
    return () => this.#end()
  }

  hasLeft(): boolean {
    return this.#exchange.signal.aborted
  }

  unread(): void {
    this.#exchange.outlivesAnswer = true
    this.#count()
  }

  keep = async () => []

  keepStream = async () => []

  /** The work has ended, unless it goes on unread; a caller who leaves from now on leaves an answer that is on its way. */
  over(): void {
    if (!this.#exchange.outlivesAnswer) this.#end()
  }

  #end(): void {
    const { signal: caller, outlivesAnswer } = this.#exchange
    caller.removeEventListener('abort', this.#callerLeft)
    if (this.#timer) clearTimeout(this.#timer)
    this.#leaveUnread?.()
    this.#exchange.outlivesCaller = false
    this.#exchange.outlivesAnswer = false
    if (caller.aborted || outlivesAnswer) this.#exchange.ended()
  }

  #left(): void {
    if (this.#exchange.outlivesCaller) this.#count()
    if (this.#goesOn) this.#timer = setTimeout(() => this.#stop.abort(), workAfterLeavingMs).unref()
    else this.#stop.abort(this.#exchange.signal.reason)
  }

  #count(): void {
    this.#leaveUnread ??= this.#unread.enter(this.#exchange.principal?.account ?? '')
  }
}
