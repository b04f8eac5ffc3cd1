import { bodiesFull } from '#contract/errors/errors.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import type { Clock } from '#contract/time.ts'
import { bodiesRetryMs, usualBodyRoom } from './bounds.ts'

/** Bytes that bodies may hold at once: all of them, and those of one caller. */
export interface BodyRoomBytes {
  allBytes: number
  ofOneBytes: number
}

/** One request's part of the room: its body, and what is fetched for it. */
export interface BodyStay {
  /** Throws `bodiesFull`. What was added before stays until `end`. */
  add(bytes: number): void
  /** Frees all of it; once is enough. */
  end(): void
}

/**
 * The memory that bodies of requests, and what is fetched for them, take in this process, from their first byte until
 * their answer has left. Bytes count
 * as they arrive, so nobody keeps others out by announcing what they never send; and no caller has more than a share.
 */
export class BodyRoom {
  readonly #clock: Clock
  readonly #bounds: BodyRoomBytes
  readonly #ofSubjects = new Map<string, number>()
  #all = 0

  constructor(clock: Clock, bounds: BodyRoomBytes = usualBodyRoom) {
    this.#clock = clock
    this.#bounds = bounds
  }

  open(subject: string): BodyStay {
    let mine = 0
    let isOver = false
    return {
      add: bytes => {
        // What is still on its way to a caller who has left is dropped when it comes.
        if (isOver) return
        this.#take(subject, bytes)
        mine += bytes
      },
      end: () => {
        this.#free(subject, mine)
        mine = 0
        isOver = true
      },
    }
  }

  #take(subject: string, bytes: number): void {
    const ofOne = (this.#ofSubjects.get(subject) ?? 0) + bytes
    const { allBytes, ofOneBytes } = this.#bounds
    const isOne = ofOne > ofOneBytes
    if (isOne || this.#all + bytes > allBytes) {
      const nowMs = this.#clock.now()
      throw bodiesFull(retryAfterHeaders(nowMs + bodiesRetryMs, nowMs, isOne ? 'user' : 'global'))
    }
    this.#all += bytes
    this.#ofSubjects.set(subject, ofOne)
  }

  #free(subject: string, bytes: number): void {
    this.#all -= bytes
    const left = (this.#ofSubjects.get(subject) ?? 0) - bytes
    if (left > 0) this.#ofSubjects.set(subject, left)
    else this.#ofSubjects.delete(subject)
  }
}
