import type { Clock } from '#contract/time.ts'

/** A clock that moves only when a test moves it. */
export class ManualClock implements Clock {
  nowMs: number

  constructor(nowMs: number) {
    this.nowMs = nowMs
  }

  now(): number {
    return this.nowMs
  }

  advance(ms: number): void {
    this.nowMs += ms
  }
}

/** 2026-03-01T12:00:00Z, the start of a minute. */
export const noonMs = Date.UTC(2026, 2, 1, 12)
