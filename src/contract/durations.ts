/** Lengths of time, in milliseconds. A day is 24 hours, whatever a calendar makes of it. */
export const minuteMs = 60 * 1_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
