/**
 * A caller that waits for a paid call. Cancelling gives the call up. Leaving the call to continue as a job does not,
 * and neither does receiving its answer.
 */
export class WaitingCaller {
  readonly #signal: AbortSignal
  #isLeft = false

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  get wants(): boolean {
    return this.#isLeft || !this.#signal.aborted
  }

  /** The wait is over. If the signal is aborted later, a connection has ended, which is not a cancellation. */
  leave(): void {
    this.#isLeft = !this.#signal.aborted
  }
}

/** Tracks who waits for this process's calls, by row; a call that continues without a caller has no entry. */
export class WaitingCallers {
  readonly #callers = new Map<string, WaitingCaller[]>()

  begin(rowId: string, caller: WaitingCaller | undefined): void {
    if (caller) this.#callers.set(rowId, [caller])
  }

  /** A caller that joins without a way to cancel wants the call to finish. */
  join(rowId: string, caller: WaitingCaller | undefined): void {
    if (caller) this.#callers.get(rowId)?.push(caller)
    else this.#callers.delete(rowId)
  }

  isWanted(rowId: string): boolean {
    return this.#callers.get(rowId)?.some(caller => caller.wants) ?? true
  }

  forget(rowId: string): void {
    this.#callers.delete(rowId)
  }
}

/** Stops the call when no caller wants the result any more; what was bought is kept for the next equal call. */
export async function whileWanted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // The work may fail after its caller has left, or before a caller waits for it.
  work.catch(() => {})
  signal.throwIfAborted()
  let stop: (() => void) | undefined
  const unwanted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    const result = await Promise.race([work, unwanted])
    signal.throwIfAborted()
    return result
  } finally {
    if (stop) signal.removeEventListener('abort', stop)
  }
}
