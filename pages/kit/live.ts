import { type ReadonlySignal, signal } from '@preact/signals'
import { endsWithItsServer, RefusedError, refusedOf } from './api.ts'
import type { Refused } from './wire.ts'

/** A value from the server that is refreshed while the page is visible. */
export interface Live<T> {
  value: ReadonlySignal<T | null>
  /** Why the last read failed; the previous value is kept. */
  problem: ReadonlySignal<Refused | null>
  /** Reads it at once. */
  refresh(): Promise<void>
  /** Stops reading it. */
  stop(): void
}

/** Set when the session is over; after that, nothing is requested. */
export const pageEnd = signal<Refused | null>(null)

/** The session is over, or the server has stopped for good. */
const isEnd = (error: unknown): error is RefusedError =>
  error instanceof RefusedError && (error.status === 401 || (error.status === 0 && endsWithItsServer()))

/** Reads a value now and every `everyMs`. A hidden page requests nothing. */
export function live<T>(load: () => Promise<T>, everyMs: number): Live<T> {
  const value = signal<T | null>(null)
  const problem = signal<Refused | null>(null)
  let timer: ReturnType<typeof setTimeout> | undefined
  let newest = 0
  const refresh = async () => {
    clearTimeout(timer)
    const mine = ++newest
    try {
      const read = await load()
      // A later read has begun with other parameters.
      if (mine !== newest) return
      value.value = read
      problem.value = null
    } catch (error) {
      if (isEnd(error)) pageEnd.value = refusedOf(error)
      if (mine === newest) problem.value = refusedOf(error)
    }
    if (mine === newest && pageEnd.value === null) timer = setTimeout(next, everyMs)
  }
  const next = () => {
    if (!document.hidden) void refresh()
  }
  const seenAgain = () => {
    if (pageEnd.value === null) next()
  }
  const stop = () => {
    newest = Number.POSITIVE_INFINITY
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', seenAgain)
  }
  document.addEventListener('visibilitychange', seenAgain)
  void refresh()
  return { value, problem, refresh, stop }
}
