import { modelOverloaded } from '#contract/errors/errors.ts'

/** Tries to get what is waited for; null while there is none. Throws where waiting is of no use any more. */
type Take<Place> = () => Place | null

interface Waiter<Place> {
  take: Take<Place>
  resolve(place: Place): void
  reject(error: unknown): void
}

interface LineOptions {
  /** Who comes when so many wait is turned away. */
  length: number
  waitMs: number
  /** What those are told who get no place. */
  hint: () => Record<string, string>
}

/** First come, first served: whoever waits longest is asked first when something is free. */
export class WaitingLine<Place> {
  readonly #options: LineOptions
  readonly #waiters = new Set<Waiter<Place>>()

  constructor(options: LineOptions) {
    this.#options = options
  }

  get length(): number {
    return this.#waiters.size
  }

  /** Rejects with `modelOverloaded` at once where the line is full, and after the longest wait. */
  join(take: Take<Place>, signal: AbortSignal): Promise<Place> {
    const { length, waitMs, hint } = this.#options
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#waiters.size >= length) return Promise.reject(modelOverloaded(hint()))
    return new Promise<Place>((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter)
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter<Place> = {
        take,
        resolve: place => {
          leave()
          resolve(place)
        },
        reject: error => {
          leave()
          reject(error)
        },
      }
      const onAbort = () => waiter.reject(signal.reason)
      const timer = setTimeout(() => waiter.reject(modelOverloaded(hint())), waitMs)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiters.add(waiter)
    })
  }

  /** Something may be free: each who waits tries, in order. */
  serve(): void {
    for (const waiter of [...this.#waiters]) {
      try {
        const place = waiter.take()
        if (place !== null) waiter.resolve(place)
      } catch (error) {
        waiter.reject(error)
      }
    }
  }
}
