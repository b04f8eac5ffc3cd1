type RequestId = string | number

/** What waits for a result to be written: until then it counts as not delivered. */
export class Deliveries {
  readonly #waiting = new Map<RequestId, readonly (() => void)[]>()

  expect(id: RequestId, runs: readonly (() => void)[]): void {
    if (runs.length > 0) this.#waiting.set(id, runs)
  }

  /** The client does not want it any more; nothing will be written. */
  forget(id: RequestId): void {
    this.#waiting.delete(id)
  }

  /** A message has left; where it is the result of a request, that has been delivered. */
  written(message: object): void {
    const { id, result } = message as { id?: RequestId; result?: unknown }
    if (id === undefined || result === undefined) return
    const runs = this.#waiting.get(id) ?? []
    this.#waiting.delete(id)
    for (const run of runs) run()
  }
}
