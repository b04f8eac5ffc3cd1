/** Of a video whose words are written down: an hour of a talk in 480p. */
export const transcribedBytes = 100 * 1024 * 1024

/** Until all of it is here. */
export const transcribedFetchMs = 60_000

/** Until its words are. */
export const transcriptMs = 600_000
