/** One spoken answer: 4,096 characters at the slowest are some 20 minutes, in WAV below 60 MB. */
export const speechBytes = 96 * 1024 * 1024

/** How long FFmpeg may take for one file of sound. */
export const soundMs = 60_000

/** A decoded file: two hours at 16,000 samples a second, of 16 bits. */
export const decodedBytes = 256 * 1024 * 1024

/** A recording that engines get: the least that servers of transcriptions take is 25 MB. */
export const longSoundBytes = 24 * 1024 * 1024

/** Runs of FFmpeg for sound at once, and those that wait; what comes beyond is told to come again. */
export const soundsAtOnce = 2
export const soundsWaiting = 200

/** Sound is decoded to this for its length: enough to count, and little to move. */
export const probeRate = 8_000

/** What engines hear recordings at: speech loses nothing. */
export const spokenRate = 16_000

/** What a sample of a voice, and the music of a video, are at. */
export const musicRate = 48_000

/** A sample of a voice that is longer is cut. */
export const voiceSampleSeconds = 300

/** Samples a second of the finest sound in use; a header that claims more is not believed. */
export const highestRate = 768_000

/** The longest recording that a model may be set to take, a day. Decoding ends there. */
export const longestRecordingSeconds = 86_400

/**
 * Samples of one channel that are decoded of a file: all of them at 48,000 a second, as every long recording that fits an
 * upload has, or ten minutes at 192,000.
 */
export const decodedSamples = (seconds: number): number => Math.max(seconds * 48_000, 600 * 192_000)
