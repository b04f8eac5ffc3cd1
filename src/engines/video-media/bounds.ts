/** Brief §2.6, seconds and bytes. */
export const referenceSeconds = { least: 2, most: 15 }
export const referenceTotalSeconds = 15
export const referenceVideoBytes = 50 * 1024 * 1024
export const musicSeconds = 30
export const soundBytes = 15 * 1024 * 1024

/** The longest video that is upscaled (published contract §4.2), and the bytes of any video that is worked on. */
export const upscaledSeconds = 300
export const videoBytes = 50 * 1024 * 1024

/** A clip that was cut at 15 s has a last frame, or some samples of silence, beyond it. */
export const secondsTolerance = 0.1

/** The most pictures of a second that any display shows in common use. */
export const picturesPerSecond = 120

/** Packets of audio of a second: Opus has no shorter ones. */
export const soundPacketsPerSecond = 400

/** Packets of all tracks of a video, the longest one that is taken; reading so many takes some four seconds. */
export const videoPackets = (upscaledSeconds + 1) * (picturesPerSecond + soundPacketsPerSecond)

/** All media of one request, decoded: they are one row of the store, which others write to at the same time. */
export const requestMediaBytes = 64 * 1024 * 1024

/** Fetching one medium; 50 MB at a megabyte a second. */
export const fetchMs = 60_000

/** Reading the length of a medium, without decoding it; the largest takes a tenth of a second. */
export const probeMs = 15_000

/** Probes that run at once, and that wait for one of them. */
export const probesAtOnce = 2
export const probesWaiting = 200

/** Length of a video whose request leaves it to the model (`Auto`, `1 gen`). */
export const modelChosenSeconds = 5
