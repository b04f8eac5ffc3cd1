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

  async run<Value>(task: () => Promise<Value>): Promise<Value> {
    if (this.#taken < this.#most) this.#taken++
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      // The slot passes to the next in line without being free in between.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#taken--
    }
  }
}
