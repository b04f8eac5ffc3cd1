import type { Clock } from '#contract/time.ts'

export interface ManualClock extends Clock {
  nowMs: number
}

export const manualClock = (nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)): ManualClock => ({
  nowMs,
  now() {
    return this.nowMs
  },
})
