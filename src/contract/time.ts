/** The one source of time of a room, so that a test can own it. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Lengths of time, in milliseconds. A day is 24 hours, whatever a calendar makes of it. */
export const minuteMs = 60 * 1_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** A moment for a person: the clock's time, and how long it is until then. */
export const displayUntil = (atMs: number, nowMs: number): string =>
  `${displayTime(atMs)}, in ${displaySpan(atMs - nowMs)}`

/** `2026-11-22 21:41 UTC` */
export const displayTime = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Whole minutes, and hours from two on: `9 minutes`, `an hour`. */
export function displaySpan(spanMs: number): string {
  const minutes = Math.round(spanMs / minuteMs)
  if (minutes < 1) return 'less than a minute'
  if (minutes === 60) return 'an hour'
  if (minutes >= 120) return `${Math.round(minutes / 60)} hours`
  return minutes === 1 ? 'a minute' : `${minutes} minutes`
}
