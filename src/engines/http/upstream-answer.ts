import type { IncomingHttpHeaders } from 'node:http'
import { BodyPieces } from '#contract/wire/body-pieces.ts'
import { AnswerTooLarge } from './upstream-error.ts'

/**
 * Bytes that may wait for their reader before the socket is paused, and in the socket before it reads no more. A socket
 * delivers at most 64 KB at once.
 */
export const aheadBytes = 16 * 1024

/** undici's interface to control one exchange, repeated here because this file's types are part of the package's. */
interface Control {
  rawHeaders?: unknown
  pause(): void
  resume(): void
  abort(reason: Error): void
}

interface Beginning {
  resolve(answer: UpstreamAnswer): void
  reject(error: unknown): void
}

/** A pending `next`. */
interface Reader {
  resolve(piece: Buffer | null): void
  reject(error: unknown): void
  /** Handles a piece before undici's callback returns; if false, `resolve` gets the piece. */
  takeDirectly: ((piece: Buffer) => boolean) | undefined
}

interface Asking {
  signal: AbortSignal
  /** For the whole answer, in milliseconds; unlimited if absent. */
  timeoutMs?: number | undefined
  /** Until the first byte of its body, and between two later ones, in milliseconds; unlimited if absent. */
  silence?: { firstMs: number; laterMs: number } | undefined
}

/**
 * A server's answer as it arrives, taken directly from undici's dispatcher: `request` would add a Node stream, a signal
 * and several promises.
 */
export class UpstreamAnswer {
  status = 0
  headers: IncomingHttpHeaders = {}
  readonly #signal: AbortSignal
  readonly #leave = () => this.#breakOff(this.#signal.reason)
  readonly #timer: NodeJS.Timeout | null
  readonly #laterMs: number
  /** The wait for the next byte. */
  #silence: NodeJS.Timeout | null
  #hasByte = false
  #beginning: Beginning | null
  #control: Control | null = null
  #pieces: Buffer[] = []
  /** Bytes that have arrived and that the reader has not finished with. */
  #ahead = 0
  /** The part of these bytes that the reader has. */
  #takenBytes = 0
  #isPaused = false
  #isOver = false
  #failure: { error: unknown } | null = null
  #reader: Reader | null = null
  /** Closes an unread answer that takes too long to end. */
  #lingering: NodeJS.Timeout | null = null
  /** How many bytes may still arrive of an answer that is no longer read; null while it is read. */
  #unreadBytes: number | null = null

  private constructor({ signal, timeoutMs, silence }: Asking, beginning: Beginning) {
    this.#signal = signal
    this.#beginning = beginning
    this.#timer = timeoutMs === undefined ? null : setTimeout(() => this.#late(), timeoutMs).unref()
    this.#laterMs = silence?.laterMs ?? 0
    this.#silence = silence ? this.#silentFor(silence.firstMs) : null
    signal.addEventListener('abort', this.#leave)
  }

  /**
   * Resolves when an answer begins, with any status. Rejects with the signal's reason, a `TimeoutError`, or undici's
   * error.
   */
  static to<Options>(
    dispatcher: { dispatch(options: Options, handler: UpstreamAnswer): boolean },
    options: NoInfer<Options>,
    asking: Asking,
  ): Promise<UpstreamAnswer> {
    return new Promise((resolve, reject) => {
      asking.signal.throwIfAborted()
      dispatcher.dispatch(options, new UpstreamAnswer(asking, { resolve, reject }))
    })
  }

  /**
   * Returns the next piece; null after the last. Throws what interrupted the answer. While this is pending, each piece
   * that arrives is offered to `takeDirectly`, and only one that it leaves is returned.
   */
  next(takeDirectly?: (piece: Buffer) => boolean): Promise<Buffer | null> {
    // A reader that asks for another piece has finished with the last one.
    this.#ahead -= this.#takenBytes
    this.#takenBytes = 0
    if (this.#ahead <= aheadBytes) this.#goOn()
    const piece = this.#pieces.shift()
    if (piece) return Promise.resolve(this.#taken(piece))
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (this.#isOver) return Promise.resolve(null)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject, takeDirectly }
    })
  }

  /** Returns the whole answer. Throws `AnswerTooLarge`. */
  async whole(most: number): Promise<Buffer> {
    const pieces = new BodyPieces()
    for (;;) {
      const piece = await this.next()
      if (!piece) return pieces.whole()
      if (pieces.bytes + piece.byteLength > most) break
      pieces.add(piece)
    }
    this.destroy()
    throw new AnswerTooLarge('The engine’s answer is too large.')
  }

  /**
   * Lets at most this many more bytes arrive, unread and within this time, then closes the connection: if the answer
   * ends by then, its connection can serve the next call.
   */
  linger(mostBytes: number, ms: number): void {
    if (this.#isOver) return
    this.#unreadBytes = mostBytes
    for (const piece of this.#pieces.splice(0)) this.#passOver(piece)
    this.#lingering = setTimeout(() => this.destroy(), ms).unref()
    this.#goOn()
  }

  /** Ends the exchange and closes its connection. */
  destroy(): void {
    this.#breakOff(new Error('The answer was not read completely.'))
  }

  /** Called by undici, like the other `on…` methods, when the request is written to its connection. */
  onRequestStart(control: Control): void {
    this.#control = control
    if (this.#isOver) control.abort(errorOf(this.#failure?.error))
  }

  onResponseStart(control: Control, status: number, headers: IncomingHttpHeaders): void {
    // Slices of the first 64 KB that arrived, which would stay in memory until the answer ends.
    control.rawHeaders = null
    // A 1xx status, such as 103, only announces an answer.
    if (status < 200) return
    this.status = status
    this.headers = headers
    this.#beginning?.resolve(this)
    this.#beginning = null
  }

  onResponseData(control: Control, piece: Buffer): void {
    if (this.#silence) this.#heard(this.#silence)
    if (this.#unreadBytes !== null) {
      this.#passOver(piece)
      return
    }
    if (this.#isTakenDirectly(piece)) return
    this.#ahead += piece.length
    if (this.#ahead > aheadBytes) {
      this.#isPaused = true
      control.pause()
    }
    const reader = this.#reader
    this.#reader = null
    if (reader) reader.resolve(this.#taken(piece))
    else this.#pieces.push(piece)
  }

  onResponseEnd(): void {
    this.#end(null)
  }

  onResponseError(_control: Control, error: Error): void {
    this.#end({ error })
  }

  #late(): void {
    this.#breakOff(new DOMException('The answer took too long.', 'TimeoutError'))
  }

  #silentFor(ms: number): NodeJS.Timeout {
    return setTimeout(() => (this.#isPaused ? this.#silence?.refresh() : this.#late()), ms).unref()
  }

  /** A server may need long to read a prompt, but then its bytes follow each other. */
  #heard(silence: NodeJS.Timeout): void {
    if (this.#hasByte) {
      silence.refresh()
      return
    }
    this.#hasByte = true
    clearTimeout(silence)
    this.#silence = this.#silentFor(this.#laterMs)
  }

  #isTakenDirectly(piece: Buffer): boolean {
    const reader = this.#reader
    if (!reader?.takeDirectly) return false
    try {
      return reader.takeDirectly(piece)
    } catch (error) {
      // The error belongs to the reader. In undici it would look like a failure of the connection.
      this.#reader = null
      reader.reject(error)
      return true
    }
  }

  #taken(piece: Buffer): Buffer {
    this.#takenBytes = piece.length
    return piece
  }

  #goOn(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#silence?.refresh()
    this.#control?.resume()
  }

  #passOver(piece: Buffer): void {
    this.#unreadBytes = (this.#unreadBytes ?? 0) - piece.length
    if (this.#unreadBytes < 0) this.destroy()
  }

  #breakOff(error: unknown): void {
    if (this.#isOver) return
    this.#pieces = []
    this.#end({ error })
    this.#control?.abort(errorOf(error))
  }

  #end(failure: { error: unknown } | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    if (this.#timer) clearTimeout(this.#timer)
    if (this.#silence) clearTimeout(this.#silence)
    this.#silence = null
    this.#signal.removeEventListener('abort', this.#leave)
    if (failure) this.#beginning?.reject(failure.error)
    this.#beginning = null
    if (this.#lingering) clearTimeout(this.#lingering)
    const reader = this.#reader
    this.#reader = null
    if (failure) reader?.reject(failure.error)
    else reader?.resolve(null)
  }
}

const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
