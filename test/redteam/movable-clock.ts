import type { Clock } from '#contract/time.ts'

export interface MovableClock extends Clock {
  advance(ms: number): void
}

/** Stands still but for what a fixture adds to it: how busy the machine is decides nothing. */
export function movableClock(): MovableClock {
  let nowMs = Date.now()
  return {
    now: () => nowMs,
    advance: ms => {
      nowMs += ms
    },
  }
}
