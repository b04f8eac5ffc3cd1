/** One spoken answer: 4,096 characters at the slowest are some 20 minutes, in WAV below 60 MB. */
export const speechBytes = 96 * 1024 * 1024

/** How long ffmpeg may take for one file of sound. */
export const soundMs = 60_000

/** Runs of ffmpeg for sound at once, and those that wait; what comes beyond is told to come again. */
export const soundsAtOnce = 2
export const soundsWaiting = 200

/** Sound is decoded to this for its length: enough to count, and little to move. */
export const probeRate = 8_000

/** The lowest bit rate of speech in use: where a length cannot be read, a file is held to have no more seconds than this gives. */
export const lowestBitsPerSecond = 6_000

/** Samples a second of the finest sound in use; a header that claims more is not believed. */
export const highestRate = 768_000

/** The longest recording that a model may be set to take, a day. Decoding ends there. */
export const longestRecordingSeconds = 86_400
