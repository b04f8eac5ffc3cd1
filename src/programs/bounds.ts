/** How long ffmpeg may take to say what it can do. */
export const findMs = 10_000

/** What it says then: a line for each encoder. */
export const encoderListBytes = 1024 * 1024
