import type { Clock } from '#contract/time.ts'

interface Waiting {
  atMs: number
  wake(): void
}

/** Time that passes only when every task waits for it. */
export class VirtualTime implements Clock {
  #nowMs: number
  #changes = 0
  readonly #waiting = new Set<Waiting>()

  constructor(startMs = Date.UTC(2026, 0, 2, 3, 4, 5)) {
    this.#nowMs = startMs
  }

  now(): number {
    return this.#nowMs
  }

  readonly pause = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const stop = () => {
        this.#waiting.delete(waiting)
        reject(signal?.reason)
      }
      const waiting: Waiting = {
        atMs: this.#nowMs + ms,
        wake: () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        },
      }
      signal?.addEventListener('abort', stop, { once: true })
      this.#waiting.add(waiting)
      this.#changes++
    })

  /** Lets time pass, moment by moment, until then. */
  async runUntil(endMs: number): Promise<void> {
    for (;;) {
      await this.#untilAllWait()
      const nextMs = Math.min(...[...this.#waiting].map(({ atMs }) => atMs))
      if (nextMs > endMs) break
      this.#nowMs = Math.max(this.#nowMs, nextMs)
      for (const waiting of [...this.#waiting]) {
        if (waiting.atMs > this.#nowMs) continue
        this.#waiting.delete(waiting)
        waiting.wake()
      }
    }
    this.#nowMs = endMs
  }

  /** Work in memory continues in microtasks and a few turns of the event loop; if no new task waits, none is left. */
  async #untilAllWait(): Promise<void> {
    for (let quiet = 0, seen = this.#changes; quiet < quietTurns; quiet++) {
      await new Promise(resolve => setImmediate(resolve))
      if (seen === this.#changes) continue
      seen = this.#changes
      quiet = 0
    }
  }
}

const quietTurns = 4
