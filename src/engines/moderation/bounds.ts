/** One image on the local model: 60 to 120 ms, its first one loads the model, and the machine may be busy. */
export const judgeMs = 30_000

/** Images that wait for the thread; a request has four at most, and who comes after them is told to retry. */
export const judgementsWaiting = 100

/** Memory of the thread, beside the 200 MB that the model keeps outside of it. */
export const threadHeapMb = 512

/** The share of the local model's certainty from which on an image counts as sexual; a drawing of a body has a third of it. */
export const adultThreshold = 0.6

/** An answer of a moderation server has some 20 categories. */
export const moderationAnswerBytes = 256 * 1024

/** The longer side of the copy that a moderation server gets; more pixels change no verdict, and cost time. */
export const sentPixels = 1_024

/** Blur by this share of the longer side: shapes stay, and nothing can be made out. */
export const blurShare = 1 / 16
