/** Of an answer about a job, and of what it says when it refuses one. */
export const jobAnswerBytes = 1024 * 1024

/** The largest video that an engine hands over. */
export const fetchedVideoBytes = 1024 * 1024 * 1024

/** All of such a file, from its head on: 36 Mbit/s for the largest. Whoever asks after a job has more patience than this. */
export const fetchedVideoMs = 240_000

/** How long a server may take to read a request with media in it and to say whether it takes the job. */
export const submissionMs = 180_000

/** How long it may take to say what has become of a job. */
export const jobQuestionMs = 30_000

/** Answers in a row that say that a job is not there or failed, until they are believed: some servers say so while they start. */
export const believedRefusals = 20
