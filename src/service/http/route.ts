import type { BodyStay, UnreadCalls } from '#access/limits/concurrency.ts'
import type { CountedFor } from '#contract/limits.ts'
import type { Operation, RequestOf } from '#contract/operations/operation.ts'
import { minuteMs } from '#contract/time.ts'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import type { Fetcher } from '#engines/fetch/fetcher.ts'
import type { FetchedFile, FetchOrder } from '#engines/fetch/guarded-fetcher.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Spendable } from '#ledger/charges/funding.ts'
import type { Op } from '#ledger/store/units.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'

/** One request as a route sees it: parsed, identified, within its limits. */
export interface Call<O extends Operation = Operation> extends RequestOf<O>, Work {
  /** Null only on operations that anyone may call. */
  principal: Principal | null
  /** What the caller can pay with, as of this request; only for who has a principal. */
  spendable(): Promise<Spendable>
  /** The caller's address, for what has no principal. */
  address: string
  /** The only way to what the caller names by an address; what comes counts with the body of the request. */
  fetcher: CountedFetcher
  /** Every value that a request header was sent with. */
  header(name: string): readonly string[]
  /** Sets a response header. */
  set<Value>(codec: HeaderCodec<Value>, value: Value): void
  /** Corrects the tokens that the limiter reserved. */
  tokensUsed(tokens: number): void
  /** Counts the request towards its limit. Only a top-up has to: the others have been counted before. */
  count(countedFor: CountedFor): Promise<void>
}

/** What a request's work is done under, and what makes its answer last where the caller gave an `Idempotency-Key`. */
export interface Work {
  /** UUIDv7; what is charged, once, however often the work is taken up again under the same key. */
  requestId: string
  /** UUIDv7; names the hold, which is another one each time the work is taken up. */
  holdId: string
  /** Aborted when nobody wants the answer any more: the caller has left, or long after that where the work goes on unread. */
  signal: AbortSignal
  /**
   * From now on this work costs us something, so it goes on when its caller leaves, and is charged. For an answer that
   * comes whole. Throws where the caller has left already.
   */
  goOn(): void
  /**
   * For a stream, which hears of its reader's leaving and ends by itself: until the result is called, the call keeps its
   * place among those of its caller.
   */
  stay(): () => void
  /** Whether its caller has left. */
  hasLeft(): boolean
  /** Nobody reads this stream any more, though its caller may still be there: it counts as left until it has ended. */
  unread(): void
  /** Whether the same key brings the answer again: then one that is not kept must not look whole. */
  hasKey: boolean
  /** Operations that keep this answer, for the commit that charges it; none without a key. */
  keep(reply: () => WholeReply): Promise<readonly Op[]>
  /** The same for a stream: what has gone out so far, then these events, then its end. */
  keepStream(lastEvents: () => readonly unknown[]): Promise<readonly Op[]>
}

/** What a route answers: JSON as it is, or one of the others said so. */
export type Reply = WholeReply | EventsReply | PiecesReply | FileReply

/** What is there as a whole, and can be kept for a repeat. */
export type WholeReply = JsonReply | BytesReply

export interface JsonReply {
  kind: 'json'
  status: number
  body: unknown
}

/** A 200 that is a file, small enough to be in memory. */
export interface BytesReply {
  kind: 'bytes'
  mimeType: string
  bytes: Buffer
}

/** Events of a stream, each already an object; `[DONE]` follows by itself. */
export interface EventsReply {
  kind: 'events'
  events: AsyncIterable<unknown>
  /** What tells a reader, in the words of this stream, that it breaks off here; throws nothing. */
  brokenOff(): readonly unknown[]
}

/** A 200 whose bytes are made as they are read. Never under a key, whose answer has to be kept. */
export interface PiecesReply {
  kind: 'pieces'
  mimeType: string
  pieces: AsyncIterable<Uint8Array>
}

export interface FileReply {
  kind: 'file'
  path: string
  bytes: number
  mimeType: string
  filename: string
  /** After the whole file has left, or with `false` when it did not. */
  onEnd?: (delivered: boolean) => Promise<void>
}

export const json = (body: unknown, status = 200): JsonReply => ({ kind: 'json', status, body })

/** A paid route has a principal by its operation's `auth`; this says so to the compiler. */
export function principalOf(call: Call): Principal {
  if (!call.principal) throw new Error(`Request ${call.requestId} reached a paid route without a principal.`)
  return call.principal
}

/** What answers one operation. Throws `ServiceError`s and lets them pass; knows no status code and no framework. */
export interface Route<O extends Operation = Operation> {
  operation: O
  answer(call: Call<O>, service: Service): Promise<Reply>
}

export const route = <O extends Operation>(operation: O, answer: Route<O>['answer']): Route<O> => ({
  operation,
  answer,
})

/** What is fetched is kept as base64 for its engine. */
const keptPerByte = 4 / 3

/**
 * Fetches for one call. What comes stays in memory until the call has ended, so it counts with the call's body, from the
 * first piece on: a few bytes of a request would otherwise bring in many megabytes that nothing bounds.
 */
export class CountedFetcher implements Fetcher {
  readonly #fetcher: Fetcher
  readonly #room: Pick<BodyStay, 'add'>

  constructor(fetcher: Fetcher, room: Pick<BodyStay, 'add'>) {
    this.#fetcher = fetcher
    this.#room = room
  }

  /** Counts bytes that came another way. Throws `bodiesFull`. */
  readonly count = (bytes: number): void => this.#room.add(Math.ceil(bytes * keptPerByte))

  /** Throws `bodiesFull` where no room is left, and what the fetcher throws. */
  async fetch(order: FetchOrder): Promise<FetchedFile> {
    let counted = 0
    const arrived = (bytes: number) => {
      this.count(bytes)
      counted += bytes
    }
    const file = await this.#fetcher.fetch({ ...order, arrived })
    if (file.bytes.length > counted) this.count(file.bytes.length - counted)
    return file
  }
}

/**
 * Work goes on this long for a caller who has left: longer than any engine may take for an answer (the slowest has 30
 * minutes for a recording), so that nobody ends work that is charged at its end by leaving it.
 */
export const workAfterLeavingMs = 45 * minuteMs

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
