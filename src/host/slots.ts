/** Lets a bounded number of tasks run at once, and a bounded number wait in the order they came. */
export class Slots {
  readonly #most: number
  readonly #mostWaiting: number
  readonly #waiting: (() => void)[] = []
  #taken = 0

  constructor(most: number, mostWaiting: number) {
    this.#most = most
    this.#mostWaiting = mostWaiting
  }

  get full(): boolean {
    return this.#waiting.length >= this.#mostWaiting
  }

  /** Who leaves gives up the place in the line at once, and the signal's reason is thrown; a task that runs ends itself. */
  async run<Value>(task: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted()
    if (this.#taken < this.#most) this.#taken++
    else await this.#turn(signal)
    try {
      return await task()
    } finally {
      // The slot passes to the next in line without being free in between.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#taken--
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        reject(signal.reason)
      }
      const begin = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      this.#waiting.push(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
