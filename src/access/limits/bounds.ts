/** Every limit of the limiter and the abuse block, with its unit. */

/** A window is a fixed minute of UTC (brief §8). */
export const windowMs = 60_000

/** Counters of one window: some 30 MB. Beyond it the one that was made first goes, which takes that many callers a minute. */
export const windowCounters = 200_000

/** Callers whose failures are remembered, each at most 21 times: some 30 MB. The one that failed longest ago goes first. */
export const countedSubjects = 50_000

/** Rows of the log of met limits are committed at most so often, so that refusals cost the disk one commit a second. */
export const limitLogCommitMs = 1_000

/** Accounts with rows that wait for their commit, each with at most a ring of them: some 50 MB. Beyond it the longest silent goes. */
export const loggedAccounts = 5_000

/** Rows of one commit, which paid calls wait behind for some milliseconds. */
export const loggedRowsPerCommit = 1_000

/**
 * Bytes of bodies that requests under way hold together, and those of one caller. Some are in memory three times while
 * they are parsed, so a process stays below 2 GB of them; one caller may send three of the largest at once.
 */
export const usualBodyRoom = { allBytes: 512 * 1024 * 1024, ofOneBytes: 128 * 1024 * 1024 }

/** When a caller whose body found no room may come again: most requests end within some seconds. */
export const bodiesRetryMs = 5_000

/**
 * Calls that go on after their callers left: of one account, as many as a busy program cancels within half a minute; of
 * one process, what its memory and its engines bear beside those that are read.
 */
export const unreadCalls = { perAccount: 128, perProcess: 2_048 }

/** When an account with too many of them may try again: a stream ends within half a minute, most far earlier. */
export const unreadRetryMs = 5_000
