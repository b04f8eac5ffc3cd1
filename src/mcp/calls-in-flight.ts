import { setTimeout as sleep } from 'node:timers/promises'

/** Calls that have not ended, so that what they work with is closed after them. */
export interface CallsInFlight {
  track<Result>(call: Promise<Result>): Promise<Result>
  /** Resolves when all have ended, or after `timeoutMs`. */
  settled(timeoutMs: number): Promise<void>
}

export function callsInFlight(): CallsInFlight {
  const calls = new Set<Promise<unknown>>()
  return {
    track(call) {
      calls.add(call)
      const forget = () => void calls.delete(call)
      call.then(forget, forget)
      return call
    },
    async settled(timeoutMs) {
      await Promise.race([Promise.allSettled(calls), sleep(timeoutMs, undefined, { ref: false })])
    },
  }
}
