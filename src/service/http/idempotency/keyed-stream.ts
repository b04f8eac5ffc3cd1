import type { PulledBody } from '#host/pulled-body.ts'
import { eventBytes, lastEventBytes } from '../body/send.ts'
import type { EventsReply } from '../route.ts'
import type { Claims } from './claims.ts'
import { keptAnswerBytes } from './replayed-answer.ts'

interface KeyedStreamParts {
  vendor: string
  /** Counts the memory of recordings. */
  claims: Pick<Claims, 'record'>
  /** Called after the last event; the end of the stream is sent once it resolves. */
  ended(): Promise<void>
  /**
   * Called once if the events break off. Returns the events that report this, or null if the connection must be closed
   * instead. Never rejects.
   */
  broken(error: unknown): Promise<readonly unknown[] | null>
  /** The reader has left. */
  left(): void
  /** Closes the connection; false if there is none. */
  cut(): boolean
}

/** Not a failure: a stream that has no reader and cannot be replayed is not generated. */
export class StreamTooLarge extends Error {}

/**
 * A stream that is recorded while it is read, at its reader's pace, and that continues after the reader has left. If it
 * becomes too large, it is delivered as if it had no key, and then ends when its reader leaves.
 */
export class KeyedStream {
  readonly body: PulledBody
  readonly #events: AsyncIterator<unknown>
  readonly #parts: KeyedStreamParts
  /** Null once it was too large. */
  #recorded: Uint8Array[] | null = []
  #recordedBytes = 0
  #turn: Promise<unknown> = Promise.resolve()
  #goesOn = false
  #over = false
  #isWhole = true

  constructor(reply: EventsReply, parts: KeyedStreamParts) {
    this.#events = reply.events[Symbol.asyncIterator]()
    this.#parts = parts
    this.body = {
      next: () => this.#next(),
      // Without this end, a partial stream cannot be mistaken for the whole answer, which a repeat with the key will
      // bring.
      last: () => (this.#isWhole ? lastEventBytes : null),
      end: async delivered => {
        if (!delivered) parts.left()
      },
      cut: () => parts.cut(),
    }
  }

  /** Continues without its reader. */
  goOn(): void {
    if (this.#goesOn || this.#over) return
    this.#goesOn = true
    void this.#readOn()
  }

  /** What has been sent so far; null if it is too large. */
  get recorded(): readonly Uint8Array[] | null {
    return this.#recorded
  }

  /** Frees the recording's memory. */
  forget(): void {
    this.#over = true
    this.#parts.claims.record(-this.#recordedBytes)
    this.#recordedBytes = 0
    this.#recorded = null
  }

  /** Returns the next event, for the reader or, after it has left, for the recording. Null after the last. */
  #next(): Promise<Uint8Array | null> {
    const next = this.#turn.then(() => this.#step())
    this.#turn = next.catch(() => undefined)
    return next
  }

  async #step(): Promise<Uint8Array | null> {
    if (this.#over) return null
    try {
      const step = await this.#events.next()
      if (step.done) {
        await this.#parts.ended()
        return null
      }
      const bytes = eventBytes(step.value, this.#parts.vendor)
      this.#record(bytes)
      return bytes
    } catch (error) {
      const last = await this.#parts.broken(error)
      if (last === null) throw error
      this.#over = true
      this.#isWhole = false
      return Buffer.concat(last.map(event => eventBytes(event, this.#parts.vendor)))
    }
  }

  #record(bytes: Uint8Array): void {
    if (!this.#recorded) return
    const fits = this.#recordedBytes + bytes.byteLength <= keptAnswerBytes
    if (fits && this.#parts.claims.record(bytes.byteLength)) {
      this.#recorded.push(bytes)
      this.#recordedBytes += bytes.byteLength
      return
    }
    this.#parts.claims.record(-this.#recordedBytes)
    this.#recordedBytes = 0
    this.#recorded = null
  }

  async #readOn(): Promise<void> {
    try {
      while (this.#recorded) if ((await this.#next()) === null) return
      await this.#turn
    } catch {
      // Reported where it broke off.
      return
    }
    if (!this.#over) await this.#breakOff()
  }

  /** The stream has no reader and cannot be replayed: what was delivered is charged, and the rest is not generated. */
  async #breakOff(): Promise<void> {
    let why: unknown = new StreamTooLarge()
    try {
      await this.#events.return?.()
    } catch (error) {
      why = error
    }
    // Also called if the charge failed, because otherwise the key would stay in use as long as this process lives.
    await this.#parts.broken(why)
  }
}
