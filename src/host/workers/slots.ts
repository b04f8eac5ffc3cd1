import { modelOverloaded } from '#contract/errors/errors.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import { callingAccount } from '../tracing/tracing.ts'

interface Waiting extends Queued {
  begin(): void
}

/**
 * Limits how many tasks run and how many wait. Accounts take turns, and no account gets all of several slots, because
 * its longest tasks would block the others.
 */
export class Slots {
  readonly #most: number
  readonly #queue: FairQueue<Waiting>
  readonly #ofOwners = new Map<string, number>()
  #taken = 0

  constructor(most: number, mostWaiting: number) {
    this.#most = most
    this.#queue = new FairQueue(mostWaiting)
  }

  /** Whether the queue has no place for another task of the calling account. */
  get full(): boolean {
    return !this.#queue.hasPlaceFor(callingAccount())
  }

  /** An abort leaves the queue at once and throws the signal's reason; a running task ends by itself. */
  async run<Value>(task: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted()
    const owner = callingAccount()
    const turn = this.#turn(owner, signal)
    if (turn) await turn
    try {
      return await task()
    } finally {
      this.#taken--
      this.#count(owner, -1)
      this.#fill()
    }
  }

  /** Returns null if a slot is free, so that the task starts at once. */
  #turn(owner: string | null, signal: AbortSignal): Promise<void> | null {
    const turn = Promise.withResolvers<void>()
    let hasBegun = false
    const leave = () => {
      this.#queue.leave(waiting)
      turn.reject(signal.reason)
    }
    const begin = () => {
      hasBegun = true
      signal.removeEventListener('abort', leave)
      turn.resolve()
    }
    const waiting: Waiting = { owner, begin }
    this.#queue.add(waiting)
    signal.addEventListener('abort', leave, { once: true })
    this.#fill()
    return hasBegun ? null : turn.promise
  }

  /** A free slot is given to the next in the queue at once, so that a later task cannot take it. */
  #fill(): void {
    const ofOne = Math.max(1, this.#most - 1)
    const mayBegin = ({ owner }: Waiting) => owner === null || (this.#ofOwners.get(owner) ?? 0) < ofOne
    while (this.#taken < this.#most) {
      const next = this.#queue.next(mayBegin)
      if (!next) return
      this.#taken++
      this.#count(next.owner, 1)
      next.begin()
    }
  }

  #count(owner: string | null, change: 1 | -1): void {
    if (owner === null) return
    const running = (this.#ofOwners.get(owner) ?? 0) + change
    if (running > 0) this.#ofOwners.set(owner, running)
    else this.#ofOwners.delete(owner)
  }
}

export interface Queued {
  /** The account that called; null for unauthenticated work. */
  owner: string | null
  /** Aborted when the caller has left; its task may stay in the queue. */
  signal?: AbortSignal | undefined
}

/**
 * A bounded queue for a scarce resource. Each account may use a share of the places. Accounts take turns, so an account
 * with many tasks delays each of the others by one task.
 */
export class FairQueue<Task extends Queued> {
  readonly #places: number
  readonly #waiting: Task[] = []
  /** Accounts that already had a turn in this round. */
  readonly #served = new Set<string | null>()

  constructor(places: number) {
    this.#places = places
  }

  hasPlaceFor(owner: string | null): boolean {
    if (this.#waiting.length >= this.#places) return false
    if (owner === null) return true
    const owned = this.#waiting.filter(each => each.owner === owner && !each.signal?.aborted).length
    return owned < Math.max(1, Math.floor(this.#places / accountsInQueue))
  }

  add(task: Task): void {
    this.#waiting.push(task)
  }

  /** Removes and returns the oldest task that `mayBegin`, preferably of an account that had no turn in this round. */
  next(mayBegin: (task: Task) => boolean = () => true): Task | undefined {
    if (this.#waiting.length === 0) this.#served.clear()
    const ready = this.#waiting.filter(mayBegin)
    const unserved = ready.find(({ owner }) => !this.#served.has(owner))
    if (!unserved) for (const { owner } of ready) this.#served.delete(owner)
    const next = unserved ?? ready[0]
    if (!next) return undefined
    this.leave(next)
    this.#served.add(next.owner)
    return next
  }

  leave(task: Task): void {
    const at = this.#waiting.indexOf(task)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  clear(): Task[] {
    return this.#waiting.splice(0)
  }
}

export const queueIsFull = () => modelOverloaded({ [retryAfter.name]: retryAfter.format(retryAfterSeconds) })

/** Each account may use this fraction of a queue's places, and at least one. */
const accountsInQueue = 4

/** Retry delay after a full queue: most tasks take a second or two. */
const retryAfterSeconds = 2
