/**
 * The callers that wait for a paid call. Cancelling gives it up; leaving it to continue as a job, or having its answer,
 * does not.
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

  /** The wait is over. A signal that is aborted later is that of a connection which has ended, and no cancel. */
  leave(): void {
    this.#isLeft = !this.#signal.aborted
  }
}

/** Who waits for the calls of this process, by their rows; nobody for what goes on by itself. */
export class WaitingCallers {
  readonly #callers = new Map<string, WaitingCaller[]>()

  begin(rowId: string, caller: WaitingCaller | undefined): void {
    if (caller) this.#callers.set(rowId, [caller])
  }

  /** Who joins without a way to cancel wants it to the end. */
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

/** Stops waiting when nobody wants the result any more; what was bought is kept for the next same call. */
export async function whileWanted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // The work may fail after its caller has gone, or before it has come.
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
