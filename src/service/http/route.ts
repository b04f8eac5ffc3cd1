import type { BodyStay, UnreadCalls } from '#access/limits/concurrency.ts'
import type { CountedFor } from '#contract/limits.ts'
import type { Operation, RequestOf } from '#contract/operations/operation.ts'
import { minuteMs } from '#contract/time.ts'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import type { Fetcher } from '#engines/fetch/fetcher.ts'
import type { FetchedFile, FetchOrder } from '#engines/fetch/guarded-fetcher.ts'
import type { TextChunk } from '#engines/ports/text-chunk.ts'
import type { DirectReader } from '#host/pulled-body.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Spendable } from '#ledger/charges/funding.ts'
import type { Op } from '#ledger/store/units.ts'
import type { MediaFile } from '../jobs/jobs.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'

/** A request as a route sees it: parsed, identified, within its limits. */
export interface Call<O extends Operation = Operation> extends RequestOf<O>, Work {
  /** Null only on operations that anyone may call. */
  principal: Principal | null
  /** What the caller could pay with when the request arrived; only with a principal. */
  spendable(): Promise<Spendable>
  /** The caller's address, for requests without a principal. */
  address: string
  /** The only way to fetch a caller's URLs; the fetched bytes count as part of the request's body. */
  fetcher: CountedFetcher
  /** Returns every value of a request header. */
  header(name: string): readonly string[]
  set<Value>(codec: HeaderCodec<Value>, value: Value): void
  /** Corrects the tokens that the limiter reserved. */
  tokensUsed(tokens: number): void
  /** Counts the request towards its limit. Only a top-up calls this: all other requests have been counted before. */
  count(countedFor: CountedFor): Promise<void>
}

/** The ids of a request's work, and what stores its answer if the caller sent an `Idempotency-Key`. */
export interface Work {
  /** UUIDv7; charged once, however often the work is resumed with the same key. */
  requestId: string
  /** UUIDv7; names the hold, which is new each time the work is resumed. */
  holdId: string
  /**
   * Aborted when the answer is no longer wanted: when the caller has left, or long after that if the work continues
   * unread.
   */
  signal: AbortSignal
  /**
   * From now on this work costs us something, so it continues when its caller leaves, and is charged. For a whole
   * answer. Throws if the caller has already left.
   */
  goOn(): void
  /**
   * For a stream, which notices that its reader left and ends by itself: the call counts among its caller's until the
   * returned function is called.
   */
  stay(): () => void
  /** Whether its caller has left. */
  hasLeft(): boolean
  /**
   * The stream has no reader any more, though its caller may still be connected. It counts as left until it has ended.
   */
  unread(): void
  /** Whether the same key returns the answer again: then a partial answer must not look complete. */
  hasKey: boolean
  /** Returns the operations that store this answer, for the commit that charges it; none without a key. */
  keep(reply: () => WholeReply): Promise<readonly Op[]>
  /** Returns the operations that store a stream: what was sent so far, then these events, then its end. */
  keepStream(lastEvents: () => readonly unknown[]): Promise<readonly Op[]>
}

/** A route's answer: plain JSON, or one of the other kinds. */
export type Reply = WholeReply | EventsReply | PiecesReply | FileReply

/** A complete answer, which can be kept for a repeat. */
export type WholeReply = JsonReply | BytesReply

export interface JsonReply {
  kind: 'json'
  status: number
  body: unknown
}

/** A 200 with a file that is small enough to be in memory. */
export interface BytesReply {
  kind: 'bytes'
  mimeType: string
  bytes: Buffer
}

/** Events of a stream, each an object; `[DONE]` is added automatically. */
export interface EventsReply {
  kind: 'events'
  events: AsyncIterable<unknown>
  /** Returns the events that tell a reader of this stream that it breaks off here; never throws. */
  brokenOff(): readonly unknown[]
  /** Accepts a reader to which chunks may be sent directly, but only while the next of `events` is pending. */
  sendDirectlyTo?(reader: DirectReader<TextChunk>): void
}

/** A 200 whose bytes are produced as they are read. Never used with a key, whose answer must be kept. */
export interface PiecesReply {
  kind: 'pieces'
  mimeType: string
  pieces: AsyncIterable<Uint8Array>
}

export interface FileReply {
  kind: 'file'
  read: MediaFile['read']
  bytes: number
  mimeType: string
  filename: string
  /** Called after the whole file has been sent, or with `false` if it was not. */
  onEnd?: (delivered: boolean) => Promise<void>
}

export const json = (body: unknown, status = 200): JsonReply => ({ kind: 'json', status, body })

/** A paid route always has a principal through its operation's `auth`; this tells the compiler. */
export function principalOf(call: Call): Principal {
  if (!call.principal) throw new Error(`Request ${call.requestId} reached a paid route without a principal.`)
  return call.principal
}

/** Handles one operation. Throws `ServiceError`s; knows no status code and no framework. */
export interface Route<O extends Operation = Operation> {
  operation: O
  answer(call: Call<O>, service: Service): Promise<Reply>
}

export const route = <O extends Operation>(operation: O, answer: Route<O>['answer']): Route<O> => ({
  operation,
  answer,
})

/** Fetched bytes are kept as base64 for the engine. */
const keptPerByte = 4 / 3

/**
 * Fetches for one call. The fetched bytes stay in memory until the call has ended, so they count as part of the call's
 * body, from the first piece on: otherwise a few bytes of a request could bring in many megabytes without limit.
 */
export class CountedFetcher implements Fetcher {
  readonly #fetcher: Fetcher
  readonly #room: Pick<BodyStay, 'add'>

  constructor(fetcher: Fetcher, room: Pick<BodyStay, 'add'>) {
    this.#fetcher = fetcher
    this.#room = room
  }

  /** Counts bytes that arrived another way. Throws `bodiesFull`. */
  readonly count = (bytes: number): void => this.#room.add(Math.ceil(bytes * keptPerByte))

  /** Throws `bodiesFull` if no room is left, and what the fetcher throws. */
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
 * How long work continues for a caller who has left: longer than any engine may take for an answer (30 minutes for a
 * recording), so that leaving avoids no charge.
 */
export const workAfterLeavingMs = 45 * minuteMs

/**
 * One piece of work without a key. Once it costs something, it ends as if its caller were still there, and is charged.
 */
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

  /**
   * The work has ended, unless it continues unread; a caller who leaves from now on only misses an answer that is being
   * sent.
   */
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
