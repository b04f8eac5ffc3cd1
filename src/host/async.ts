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
    work.then(resolve, reject).finally(() => {
      if (timer) clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    })
  })
}

/** Tracks work in flight, so that a resource is closed only after the work that uses it. */
export class InFlight {
  readonly #open = new Set<PromiseWithResolvers<void>>()

  /** Begins work; call the returned function when it ends. */
  begin(): () => void {
    const over = Promise.withResolvers<void>()
    this.#open.add(over)
    return () => {
      this.#open.delete(over)
      over.resolve()
    }
  }

  /** Resolves when everything that began before this call has ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#open].map(({ promise }) => promise))
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
