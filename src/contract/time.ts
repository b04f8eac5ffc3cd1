/** The only source of time, so that tests can control it. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Durations in milliseconds. A day is 24 hours, regardless of the calendar. */
export const minuteMs = 60 * 1_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/**
 * Whether a time that was set at most this far ahead has not come yet. If it is further ahead, the clock was set back
 * since then, and a short wait must not become a long one.
 */
export const isAhead = (untilMs: number, spanMs: number, nowMs: number): boolean =>
  nowMs < untilMs && untilMs - nowMs <= spanMs

/** The start of a UTC day such as 2026-11-01, from the year 2000 on, or null. */
export function dayOfText(text: string): number | null {
  const atMs = /^[2-9]\d{3}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return Number.isNaN(atMs) || textOfDay(atMs) !== text ? null : atMs
}

export const textOfDay = (atMs: number): string => new Date(atMs - (atMs % dayMs)).toISOString().slice(0, 10)

/** Formats a moment for display: the time, and how long it is until then. */
export const displayUntil = (atMs: number, nowMs: number): string =>
  `${displayTime(atMs)}, in ${displaySpan(atMs - nowMs)}`

/** `2026-11-22 21:41 UTC` */
export const displayTime = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Whole minutes, or hours from two on: `9 minutes`, `an hour`. */
export function displaySpan(spanMs: number): string {
  const minutes = Math.round(spanMs / minuteMs)
  if (minutes < 1) return 'less than a minute'
  if (minutes === 60) return 'an hour'
  if (minutes >= 120) return `${Math.round(minutes / 60)} hours`
  return minutes === 1 ? 'a minute' : `${minutes} minutes`
}
