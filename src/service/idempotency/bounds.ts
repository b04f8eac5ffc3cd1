/** How long a claim outlives a process that died: as long as a hold does, so that both come free together. */
export const claimLeaseMs = 30_000

/** A live claim is renewed this often, so that two renewals may fail before it lapses. */
export const claimRenewalMs = 10_000

/**
 * The largest answer that is kept: a dozen pictures as base64. As JSON text inside JSON text it may double, and stays
 * within what one column may hold.
 */
export const keptAnswerBytes = 24 * 1024 * 1024

/** Bytes of unfinished streams that one process keeps in memory; a stream beyond it is delivered and not kept. */
export const recordedBytes = 256 * 1024 * 1024

/** Work goes on this long for a caller who has left: longer than nearly every answer takes. */
export const workAfterLeavingMs = 10 * 60 * 1000

/**
 * When a caller whose key is in use should ask again. Every such answer counts as a failure, and more than 20 within 30 s
 * block the caller: asking every 2 s stays below.
 */
export const keyInUseRetryMs = 2_000

/** Looks at a claim that others are moving, before it is answered as one that is in use. */
export const claimAttempts = 5
