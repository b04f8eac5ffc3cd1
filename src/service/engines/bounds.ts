/** Of a message that a demonstration repeats, so that its answers stay short. */
export const quotedCharacters = 240

/** How far a demonstration counts when it is asked to: enough for a long stream. */
export const countedNumbers = 10_000

/** Between two chunks, so that a stream can be seen as one. */
export const chunkPauseMs = 15

/** All pauses of one stream together, so that a long answer is not slow for show. */
export const streamPauseMs = 4_000

/** Encodes that run at once; the machine serves requests beside them. */
export const encodesAtOnce = 2

/** Jobs that wait for an encoder; what comes beyond is told to come again. */
export const encodesWaiting = 1_000

/** A demonstration takes seconds; an encoder that needs longer than this hangs. */
export const encodeMs = 120_000

/** The largest file of an encode: ten seconds of 1080p stay below 30 MB. */
export const encodedBytes = 200 * 1024 * 1024

/** How long an encoder may take to say what it can do. */
export const probeMs = 10_000

/** What is kept of an encoder's complaints. */
export const complaintCharacters = 2_000

/** Failures that are remembered until their job asks; the oldest are forgotten, and would be tried again. */
export const rememberedFailures = 1_000

/** Words of a prompt that stand in the picture. */
export const captionCharacters = 96
