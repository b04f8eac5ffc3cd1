import type { PulledBody } from '../body/pulled-body.ts'
import { eventBytes, lastEventBytes } from '../body/send.ts'
import type { EventsReply } from '../route.ts'
import type { Claims } from './claims.ts'
import { keptAnswerBytes } from './kept-answer.ts'

interface KeyedStreamParts {
  vendor: string
  /** Where the memory for what is recorded is counted. */
  claims: Pick<Claims, 'record'>
  /** Called after the last event; the end of the stream goes out once it resolves. */
  ended(): Promise<void>
  /** Called once, when the events broke off. Answers the events that say so, or null where the connection has to. Never rejects. */
  broken(error: unknown): Promise<readonly unknown[] | null>
  /** The reader is gone. */
  left(): void
  /** Breaks the connection off; false where there is none. */
  cut(): boolean
}

/** Nothing went wrong: what nobody reads and nobody could be given again is not made. */
export class StreamTooLarge extends Error {}

/**
 * A stream that is recorded while it is read, at its reader's pace, and goes on by itself when the reader has left. One
 * that is too large is delivered like one without a key: then it ends when its reader leaves.
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
      // Without it nobody takes what has come for the answer, which the key will bring.
      last: () => (this.#isWhole ? lastEventBytes : null),
      end: async delivered => {
        if (!delivered) parts.left()
      },
      cut: () => parts.cut(),
    }
  }

  /** Reads on for a reader who has left. */
  goOn(): void {
    if (this.#goesOn || this.#over) return
    this.#goesOn = true
    void this.#readOn()
  }

  /** What has gone out so far; null where it is too large. */
  get recorded(): readonly Uint8Array[] | null {
    return this.#recorded
  }

  /** Frees the memory of what was recorded. */
  forget(): void {
    this.#over = true
    this.#parts.claims.record(-this.#recordedBytes)
    this.#recordedBytes = 0
    this.#recorded = null
  }

  /** The next event, for the reader or, after it has left, for nobody. Null after the last. */
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
      // Said where it broke.
      return
    }
    if (!this.#over) await this.#breakOff()
  }

  /** Nobody reads it and nobody can have it again: what has been delivered is owed, and the rest is not made. */
  async #breakOff(): Promise<void> {
    let why: unknown = new StreamTooLarge()
    try {
      await this.#events.return?.()
    } catch (error) {
      why = error
    }
    // Also where the charge could not be made, or the key would stay in use for as long as this process lives.
    await this.#parts.broken(why)
  }
}
