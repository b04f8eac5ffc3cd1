import type { Seeded } from '../seeded.ts'

/** Something that happens later, unless it is cancelled before. */
export interface Scheduled {
  cancel(): void
}

interface Event {
  atMs: number
  /** Drawn, so that what happens in one moment has no order of its own. */
  tie: number
  run: (() => void) | null
}

const realSetImmediate = setImmediate

let immediates = 0

/** What a process does in its next turn takes no time: nothing is settled before it. */
export function beforeSettled(run: () => void): void {
  immediates++
  realSetImmediate(() => {
    immediates--
    run()
  })
}

/** Everything that was set going has come to a stop, or to a wait for one of our events. */
export async function settled(): Promise<void> {
  do await new Promise(resolve => realSetImmediate(resolve))
  while (immediates > 0)
}

/** Time that moves only when it is told to: the one queue of everything that waits. Milliseconds from 0; it never goes back. */
export class VirtualTime {
  readonly #draws: Seeded
  readonly #queue: Event[] = []
  #nowMs = 0

  constructor(draws: Seeded) {
    this.#draws = draws
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Events that are due within this time, cancelled ones among them. */
  isDueBy(atMs: number): boolean {
    const [next] = this.#queue
    return next !== undefined && next.atMs <= atMs
  }

  after(delayMs: number, run: () => void): Scheduled {
    const event: Event = { atMs: this.#nowMs + Math.max(0, Math.trunc(delayMs)), tie: this.#draws.draw(), run }
    this.#push(event)
    return {
      cancel() {
        event.run = null
      },
    }
  }

  wait(delayMs: number): Promise<void> {
    return new Promise(resolve => this.after(delayMs, resolve))
  }

  /** Runs what is due up to this moment, one event after the other, each until everything is still. */
  async runTo(atMs: number): Promise<void> {
    // What was set going before may be about to wait for a moment of its own.
    await settled()
    while (this.isDueBy(atMs)) await this.runNext()
    this.#nowMs = Math.max(this.#nowMs, atMs)
  }

  /** The next event, whenever it is; false where nothing waits. */
  async runNext(): Promise<boolean> {
    const event = this.#pop()
    if (!event) return false
    if (!event.run) return true
    this.#nowMs = Math.max(this.#nowMs, event.atMs)
    event.run()
    await settled()
    return true
  }

  /** As a machine that slept: time has passed and nothing happened in it. What became due is late. */
  leap(ms: number): void {
    this.#nowMs += ms
  }

  #push(event: Event): void {
    const queue = this.#queue
    let at = queue.push(event) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(event, queue[above])) break
      queue[at] = queue[above] as Event
      at = above
    }
    queue[at] = event
  }

  #pop(): Event | undefined {
    const queue = this.#queue
    const [first] = queue
    const last = queue.pop()
    if (last === undefined || first === last) return first
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      const next = isBefore(queue[left + 1], queue[left]) ? left + 1 : left
      if (!isBefore(queue[next], last)) break
      queue[at] = queue[next] as Event
      at = next
    }
    queue[at] = last
    return first
  }
}

function isBefore(one: Event | undefined, other: Event | undefined): boolean {
  if (!one || !other) return one !== undefined
  return one.atMs === other.atMs ? one.tie < other.tie : one.atMs < other.atMs
}
