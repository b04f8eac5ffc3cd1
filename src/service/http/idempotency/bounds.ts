import { dayMs, minuteMs } from '#contract/time.ts'

/** How long a claim outlives a process that died: as long as a hold does, so that both come free together. */
export const claimLeaseMs = 30_000

/** A live claim is renewed this often, so that two renewals may fail before it lapses. */
export const claimRenewalMs = 10_000

/**
 * The largest answer that is kept: a dozen pictures as base64. As JSON text inside JSON text it may double, and stays
 * within what one column may hold.
 */
export const keptAnswerBytes = 24 * 1024 * 1024

/**
 * Answers that are kept for one account within a day, in bytes: thirty pictures, or thousands of long texts. An answer
 * costs its caller by its tokens and us by its bytes, so without this a few dollars would fill a disk.
 */
export const keptBytesADay = 64 * 1024 * 1024
export const keptSpaceMs = dayMs

/** Answers up to this are always kept and not counted: it is 4,000 tokens, which cost more than the place they take. */
export const smallAnswerBytes = 16 * 1024

/** Accounts of whose answers the bytes are known; a busy service has fewer with large answers a day. */
export const keptAccounts = 10_000

/** Bytes of unfinished streams that one process keeps in memory; a stream beyond it is delivered and not kept. */
export const recordedBytes = 256 * 1024 * 1024

/**
 * Work goes on this long for a caller who has left: longer than any engine may take for an answer (the slowest has 30
 * minutes for a recording), so that nobody ends work that is charged at its end by leaving it.
 */
export const workAfterLeavingMs = 45 * minuteMs

/**
 * When a caller whose key is in use should ask again. Every such answer counts as a failure, and more than 20 within 30 s
 * block the caller: asking every 2 s stays below.
 */
export const keyInUseRetryMs = 2_000

/** Looks at a claim that others are moving, before it is answered as one that is in use. */
export const claimAttempts = 5
