import { modelOverloaded } from '#contract/errors/errors.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import { accountsInLine, retryAfterSeconds } from './bounds.ts'

/** What waits in a line for its turn. */
export interface InLine {
  /** The account whose call it is; null where it is nobody's. */
  owner: string | null
  /** Of a caller who may have left without leaving the line. */
  signal?: AbortSignal | undefined
}

/**
 * A line of work that waits for something scarce. It has a bounded number of places, of which each account has a share.
 * Accounts take turns, so one that waits with many tasks delays the others by one task each.
 */
export class FairLine<Task extends InLine> {
  readonly #places: number
  readonly #waiting: Task[] = []
  /** Who had a turn since all who wait had one. */
  readonly #served = new Set<string | null>()

  constructor(places: number) {
    this.#places = places
  }

  hasPlaceFor(owner: string | null): boolean {
    if (this.#waiting.length >= this.#places) return false
    if (owner === null) return true
    const owned = this.#waiting.filter(each => each.owner === owner && !each.signal?.aborted).length
    return owned < Math.max(1, Math.floor(this.#places / accountsInLine))
  }

  add(task: Task): void {
    this.#waiting.push(task)
  }

  /** Takes out the oldest task that `mayBegin`, of an account that had no turn of late where there is one. */
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

  /** Takes all of them out. */
  clear(): Task[] {
    return this.#waiting.splice(0)
  }
}

/** Refuses a call that found no place in a line. */
export const lineIsFull = () => modelOverloaded({ [retryAfter.name]: retryAfter.format(retryAfterSeconds) })
