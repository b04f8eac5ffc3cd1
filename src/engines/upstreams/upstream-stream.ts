import { requestTimeout } from '#contract/errors/errors.ts'
import { FollowingAbort } from '#host/async.ts'
import { inSpan, type Span, spanFailed } from '#host/tracing/tracing.ts'
import { cutByUs } from '../http/upstream-error.ts'
import { usualIdleMs } from './upstream.ts'

interface Streaming<Piece> {
  /** Aborted by the caller. */
  signal: AbortSignal
  span: Span | null
  /** Timeouts until the first piece, and between two later ones; in milliseconds. */
  firstByteMs: number | undefined
  idleMs: number | undefined
  ask(signal: AbortSignal): AsyncIterable<Piece>
}

/** The stream of one upstream. One timer limits every wait. */
export class UpstreamStream<Piece> {
  readonly #abort: FollowingAbort
  readonly #span: Span | null
  readonly #idleMs: number
  readonly #pieces: AsyncIterator<Piece>
  readonly #first: Promise<IteratorResult<Piece>>
  #timer: NodeJS.Timeout | null = null
  #tooLate: ((error: Error) => void) | null = null

  constructor({ signal, span, firstByteMs, idleMs = usualIdleMs, ask }: Streaming<Piece>) {
    this.#abort = new FollowingAbort(signal)
    this.#span = span
    this.#idleMs = idleMs
    try {
      this.#pieces = inSpan(span, () => ask(this.#abort.signal))[Symbol.asyncIterator]()
    } catch (error) {
      this.end({ error })
      throw error
    }
    if (firstByteMs !== undefined) this.#restart(firstByteMs)
    this.#first = inSpan(span, () => this.#within(this.#pieces.next()))
  }

  /** Returns the first piece. Rejects with its engine's error, or ours if it comes too late. */
  async first(): Promise<IteratorResult<Piece>> {
    const step = await this.#first
    if (this.#timer) clearTimeout(this.#timer)
    this.#restart(this.#idleMs)
    return step
  }

  /** A piece has arrived, or a wait for one begins: restarts the timeout of a silent stream. */
  heard(): void {
    this.#timer?.refresh()
  }

  next(): Promise<IteratorResult<Piece>> {
    this.heard()
    return this.#within(this.#pieces.next())
  }

  /** Ends the stream. If it is done, its connection can serve the next call. */
  end({ isDone = false, error }: { isDone?: boolean; error?: unknown } = {}): void {
    if (this.#timer) clearTimeout(this.#timer)
    if (!isDone) this.#abort.abort()
    this.#abort.release()
    // Not awaited: one that hangs would keep its slot.
    Promise.resolve(this.#pieces?.return?.()).catch(() => undefined)
    if (error !== undefined) spanFailed(this.#span, error)
    this.#span?.end()
  }

  #restart(ms: number): void {
    this.#timer = setTimeout(() => this.#tooLate?.(cutByUs(requestTimeout())), ms)
  }

  #within(work: Promise<IteratorResult<Piece>>): Promise<IteratorResult<Piece>> {
    return new Promise((resolve, reject) => {
      this.#tooLate = reject
      work.then(
        step => {
          this.#tooLate = null
          resolve(step)
        },
        error => {
          this.#tooLate = null
          reject(error)
        },
      )
    })
  }
}
