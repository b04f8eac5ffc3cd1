/** When a wait ends without a result. */
interface Patience {
  /** Ends the wait when aborted. */
  signal: AbortSignal
  /** No deadline if absent. */
  timeoutMs?: number
}

/**
 * Returns the same result, or rejects on abort or timeout. An engine that ignores its abort signal must not block a
 * caller, its credit or a shutdown.
 */
export function boundedWait<Value>(work: Promise<Value>, { signal, timeoutMs }: Patience): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    const late = () => reject(new Error(`There was no answer within ${timeoutMs} ms.`))
    const timer = timeoutMs === undefined ? null : setTimeout(late, timeoutMs).unref()
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    const end = () => {
      if (timer) clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    }
    work.then(
      value => {
        end()
        resolve(value)
      },
      error => {
        end()
        reject(error)
      },
    )
  })
}

interface Entry<Item> {
  readonly item: Item
  previous: Entry<Item> | null
  next: Entry<Item> | null
}

/**
 * Items in flight, oldest first. Not a `Set`: V8 replaces the table of a busy `Set` every few dozen entries, and each
 * old table keeps its entries, with everything that they refer to, until the next full garbage collection.
 */
export class OpenList<Item> {
  #first: Entry<Item> | null = null
  #last: Entry<Item> | null = null
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds an item; call the returned function when it is over. */
  add(item: Item): () => void {
    const entry: Entry<Item> = { item, previous: this.#last, next: null }
    if (this.#last) this.#last.next = entry
    else this.#first = entry
    this.#last = entry
    this.#size++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#remove(entry)
    }
  }

  /** Returns a copy, so that items may be added and removed while it is read. */
  all(): Item[] {
    const items: Item[] = []
    for (let entry = this.#first; entry; entry = entry.next) items.push(entry.item)
    return items
  }

  #remove(entry: Entry<Item>): void {
    const { previous, next } = entry
    if (previous) previous.next = next
    else this.#first = next
    if (next) next.previous = previous
    else this.#last = previous
    // A removed entry must not keep its neighbors alive either.
    entry.previous = null
    entry.next = null
    this.#size--
  }
}

/** Work that began between two calls of `settled`. */
interface Generation {
  open: number
  readonly over: PromiseWithResolvers<void>
}

const newGeneration = (): Generation => ({ open: 0, over: Promise.withResolvers() })

/** Tracks work in flight, so that a resource is closed only after the work that uses it. */
export class InFlight {
  #current = newGeneration()
  /** Earlier ones with work in flight. */
  #earlier: Generation[] = []

  /** Begins work; call the returned function when it ends. */
  begin(): () => void {
    const generation = this.#current
    generation.open++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      generation.open--
      if (generation.open === 0 && generation !== this.#current) this.#end(generation)
    }
  }

  /** Resolves when everything that began before this call has ended. */
  async settled(): Promise<void> {
    if (this.#current.open > 0) {
      this.#earlier.push(this.#current)
      this.#current = newGeneration()
    }
    await Promise.all(this.#earlier.map(({ over }) => over.promise))
  }

  #end(generation: Generation): void {
    this.#earlier = this.#earlier.filter(each => each !== generation)
    generation.over.resolve()
  }
}

/** Returns a function that runs once, however often it is called: every caller gets the same promise. */
export function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= run()
    return running
  }
}

/**
 * An abort signal that also follows another one and a deadline. Unlike `AbortSignal.any`, `release` frees it at once.
 */
export class FollowingAbort {
  readonly #own = new AbortController()
  readonly #other: AbortSignal
  readonly #follow = () => this.abort(this.#other.reason)
  readonly #timer: NodeJS.Timeout | null

  /** Call `release` when the work has ended. */
  constructor(other: AbortSignal, timeoutMs?: number) {
    this.#other = other
    const late = () => this.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    this.#timer = timeoutMs === undefined ? null : setTimeout(late, timeoutMs).unref()
    if (other.aborted) this.#follow()
    else other.addEventListener('abort', this.#follow)
  }

  get signal(): AbortSignal {
    return this.#own.signal
  }

  abort(reason?: unknown): void {
    this.release()
    this.#own.abort(reason)
  }

  release(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#other.removeEventListener('abort', this.#follow)
  }
}

/** Returns a function that runs the given tasks one after another, also after a failure. */
export function oneAtATime(): <Value>(run: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve()
  return run => {
    const turn = last.then(run)
    last = turn.catch(() => undefined)
    return turn
  }
}
