import type { Clock } from '#contract/clock.ts'

export interface MovableClock extends Clock {
  advance(ms: number): void
}

/** The time, and what a fixture adds to it instead of waiting. */
export function movableClock(): MovableClock {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    advance: ms => {
      aheadMs += ms
    },
  }
}
