import { abuseBlock } from '#contract/limits.ts'
import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every bound of the client, with its unit and why that number. */

/** A service that does not take a connection in this time is down for the caller. */
export const connectTimeoutMs = 10_000
/** A chat that is not streamed answers when it is whole; services give up at about two minutes themselves. */
export const headersTimeoutMs = 180_000
/** Between two pieces of a body: streams send something more often. */
export const bodyTimeoutMs = 60_000
/** How long an idle connection is kept. */
export const keepAliveMs = 30_000

/** Largest JSON answer that is read, in bytes: four images in base64; a list of hundreds of models is below 1 MB. */
export const answerBytes = 32 * 1024 * 1024
/** An error answer is read so far; a policy text of two pages fits many times. */
export const errorBytes = 512 * 1024
/** Of an error answer that is no JSON, such as a page of a proxy: its title and first sentences. */
export const errorCharacters = 4_000
/** Largest image or recording of one answer, in bytes: an hour of speech, or an 8K image, is below. */
export const madeBytes = 128 * 1024 * 1024
/** Largest file that is downloaded, in bytes: a minute of 4k video is below. */
export const fileBytes = 4 * 1024 * 1024 * 1024

/** Sends of one call, the first included. */
export const attempts = 5
/** The wait before the second attempt is up to this, doubled each time. */
export const backoffBaseMs = 500
export const backoffCapMs = 30_000
/** All waits of one call together; a minute's window resets within it. */
export const retryBudgetMs = 75_000
/** Callers that share a reset time come back spread over this part of their wait. */
export const resetJitter = 0.1
/** A service that asks for more than a day has a clock or a unit of its own; a later time would not be read as one. */
export const longestHintMs = dayMs

/** Windows are of a minute; one that is said to end later is asked about with one call after this, whatever was said. */
export const believedResetMs = hourMs

/** Brief §7.3 blocks after more than 20 failures in 30 s; we stop well before. */
export const breakerWindowMs = 30_000
export const breakerFailures = 15
/** From this many failures on, half as many calls are in flight at once. */
export const breakerEasesAt = 12
/** A service that is down loses requests; it need not have seen them, so fewer than these do not count. */
export const breakerUncountedUnanswered = 5
/** Failures and calls in flight together: each of these may fail as well. Two are left for requests that pass us by. */
export const breakerCeiling = abuseBlock.failures - 2
/** Between a probe that failed and the next one: ten in a window, half of what is allowed. */
export const probePauseMs = 3_000
/** Added to a block's 30 s, so that all clients do not return in one instant. */
export const blockJitterMs = 2_000

/** A call whose process may have died counts as in flight for this long: its connection has ended by then. */
export const flightLifeMs = connectTimeoutMs + headersTimeoutMs + 10_000
/** Calls of one process at once; with one more process of the same caller the breaker's ceiling is reached. */
export const mostAtOnce = 16
/** An answer that is not read to its end holds its turn this long. */
export const turnLifeMs = 10 * minuteMs
/** Refusals for too many calls at once that come this close together are one lesson. */
export const lessonMs = 1_000
/** A call that waits for a turn looks again after this, because other processes cannot wake it. */
export const turnPauseMs = 250

/**
 * A sign-in that was refused is signed again by the service's clock where that is so far from ours; a slow answer is
 * not.
 */
export const leastSkewMs = 30_000
export const longestSkewMs = 10 * minuteMs

/** What a top-up offers changes rarely; every look costs a 402. */
export const requirementsLifeMs = 5 * minuteMs

/** Notes that a process keeps in memory where it shares none: a caller's own, and one for each limit and model. */
export const memoryNotes = 500
/** A model's id as it stands in a note's key; longer ones are no ids. */
export const bucketModelCharacters = 200
/** Two looks at one reset time differ by this at most, because the service's `Date` has whole seconds. */
export const sameResetMs = 1_500
/** A note that is this much ahead of the clock was written before the clock was set back. */
export const clockStepMs = 5_000

/** A download that breaks off before it came further is taken up again this often. */
export const downloadAttempts = 5
/** One that came this far, in bytes, goes on at once; a gigabyte over a very bad line has a hundred cuts. */
export const progressBytes = 64 * 1024
export const downloadCuts = 1_000
/** Bytes of a download that a loss of power may take; a later process fetches so many again. */
export const unsyncedBytes = 1024 * 1024
/** Left free on the disk beside a file, in bytes, for other writers. */
export const spareDiskBytes = 16 * 1024 * 1024
