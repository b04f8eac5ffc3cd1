/** Whoever waits for a paid call. Who cancels wants it no more; who leaves it to go on as a job, or has its answer, does. */
export class WaitingCaller {
  readonly #signal: AbortSignal
  #isLeft = false

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  get wants(): boolean {
    return this.#isLeft || !this.#signal.aborted
  }

  /** The wait is over. A signal that is aborted later is that of a connection which has ended, and no cancel. */
  leave(): void {
    this.#isLeft = !this.#signal.aborted
  }
}
