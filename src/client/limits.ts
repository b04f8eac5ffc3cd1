import { abuseBlock } from '#contract/limits.ts'
import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of the client, with its unit and reason. */

/** If a service does not accept a connection within this time, we treat it as down. */
export const connectTimeoutMs = 10_000
/** A chat without streaming answers when it is complete, most often within two minutes. */
export const headersTimeoutMs = 180_000
/** Longest silence within a body: a service lets its engine pause for two minutes in a stream, which is charged. */
export const bodyTimeoutMs = 150_000
/** For a whole answer of JSON that cost nothing, once it has begun; the longest list takes seconds. */
export const bodyMs = 30_000
/** The same for an answer that was paid for: sixteen images over a slow line. */
export const paidBodyMs = 15 * minuteMs
/** How long to wait for the text of an error; its status alone says most. */
export const errorMs = 5_000
/** How long an idle connection is kept. */
export const keepAliveMs = 30_000

/**
 * Largest JSON answer to read, in bytes: enough for four images in base64. A list of hundreds of models is below 1 MB.
 */
export const answerBytes = 32 * 1024 * 1024
/** Largest error answer to read, in bytes; far more than a policy text of two pages. */
export const errorBytes = 512 * 1024
/** How much to keep of an error answer that isn't JSON, such as a proxy's page: its title and first sentences. */
export const errorCharacters = 4_000
/** Largest image or recording in one answer, in bytes: more than an hour of speech or an 8K image. */
export const madeBytes = 128 * 1024 * 1024
/** Largest file to download, in bytes: more than a minute of 4K video. */
export const fileBytes = 4 * 1024 * 1024 * 1024

/** Attempts of one call, including the first. */
export const attempts = 5
/** Maximum wait before the second attempt; it doubles each time. */
export const backoffBaseMs = 500
export const backoffCapMs = 30_000
/** Total waiting time of one call; enough for a one-minute window to reset. */
export const retryBudgetMs = 75_000
/** Callers that share a reset time retry spread over this fraction of their wait. */
export const resetJitter = 0.1
/** A service that asks us to wait for more than a day has a wrong clock or unit, so its hint is capped. */
export const longestHintMs = dayMs

/** Windows last a minute. If one claims to end later than this, we try one call anyway. */
export const believedResetMs = hourMs

/** Brief §7.3 blocks after more than 20 failures in 30 s; we stop well before. */
export const breakerWindowMs = 30_000
export const breakerFailures = 15
/** From this many failures on, half as many calls may be in flight. */
export const breakerEasesAt = 12
/** A service that is down loses requests without seeing them, so fewer unanswered ones than this do not count. */
export const breakerUncountedUnanswered = 5
/**
 * Maximum of failures plus calls in flight, since each call in flight may fail too. Two are left for requests that
 * bypass us.
 */
export const breakerCeiling = abuseBlock.failures - 2
/** Time between a failed probe and the next: ten per window, half of what is allowed. */
export const probePauseMs = 3_000
/** Added to a block's 30 s, so that clients do not all return at once. */
export const blockJitterMs = 2_000

/** How long a call counts as in flight after its process may have died: by then its connection has ended. */
export const flightLifeMs = connectTimeoutMs + headersTimeoutMs + 10_000
/** Calls of one process at once. Two processes of the same caller reach the breaker's ceiling. */
export const mostAtOnce = 16
/** An answer that is never read to its end holds its slot this long. */
export const turnLifeMs = 10 * minuteMs
/** Several "too many calls" refusals within this time count as one. */
export const lessonMs = 1_000
/** How often a waiting call checks again, because other processes cannot wake it. */
export const turnPauseMs = 250

/**
 * A refused sign-in is signed again only if the service's clock is at least this far from ours; a slow answer alone is
 * not.
 */
export const leastSkewMs = 30_000
export const longestSkewMs = 10 * minuteMs

/** A service's top-up offer rarely changes, and each check costs a 402. */
export const requirementsLifeMs = 5 * minuteMs

/** Notes that a process keeps in memory if it does not share them: one per caller, and one per limit and model. */
export const memoryNotes = 500
/** Longest model id in a note's key; longer ones are not real ids. */
export const bucketModelCharacters = 200
/** Two readings of one reset time differ by at most this, because the service's `Date` has whole seconds. */
export const sameResetMs = 1_500
/** A note that is this far in the future was written before the clock was set back. */
export const clockStepMs = 5_000

/** How many times in a row a download may break off without progress before it fails. */
export const downloadAttempts = 5
/**
 * Progress, in bytes, after which a download resumes at once; a gigabyte over a very bad connection is interrupted a
 * hundred times.
 */
export const progressBytes = 64 * 1024
export const downloadCuts = 1_000
/** Bytes of a download that a power loss may destroy; a later process fetches them again. */
export const unsyncedBytes = 1024 * 1024
/** Disk space to leave free beside a file for other writers, in bytes. */
export const spareDiskBytes = 16 * 1024 * 1024
