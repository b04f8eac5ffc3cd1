import { FairLine, type InLine } from './fair-line.ts'
import { callingAccount } from './tracing/tracing.ts'

interface Waiting extends InLine {
  begin(): void
}

/**
 * Lets a bounded number of tasks run at once, and a bounded number wait. Accounts take turns, and no account has all the
 * slots where there are several: its longest tasks would keep everybody else out.
 */
export class Slots {
  readonly #most: number
  readonly #line: FairLine<Waiting>
  readonly #ofOwners = new Map<string, number>()
  #taken = 0

  constructor(most: number, mostWaiting: number) {
    this.#most = most
    this.#line = new FairLine(mostWaiting)
  }

  /** Whether there is no place in the line for another task of the account whose request this is. */
  get full(): boolean {
    return !this.#line.hasPlaceFor(callingAccount())
  }

  /** Who leaves gives up the place in the line at once, and the signal's reason is thrown; a task that runs ends itself. */
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

  /** Null where a slot is free, so that the task begins at once. */
  #turn(owner: string | null, signal: AbortSignal): Promise<void> | null {
    const turn = Promise.withResolvers<void>()
    let hasBegun = false
    const leave = () => {
      this.#line.leave(waiting)
      turn.reject(signal.reason)
    }
    const begin = () => {
      hasBegun = true
      signal.removeEventListener('abort', leave)
      turn.resolve()
    }
    const waiting: Waiting = { owner, begin }
    this.#line.add(waiting)
    signal.addEventListener('abort', leave, { once: true })
    this.#fill()
    return hasBegun ? null : turn.promise
  }

  /** A slot is given away at once, so nobody who comes later takes it first. */
  #fill(): void {
    const ofOne = Math.max(1, this.#most - 1)
    const mayBegin = ({ owner }: Waiting) => owner === null || (this.#ofOwners.get(owner) ?? 0) < ofOne
    while (this.#taken < this.#most) {
      const next = this.#line.next(mayBegin)
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
