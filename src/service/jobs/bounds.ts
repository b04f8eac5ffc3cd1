import { dayMs, minuteMs } from '#contract/time.ts'

/** How long a job stays with a process that died. */
export const jobLeaseMs = 30_000

/** A live job's lease is renewed this often. */
export const jobRenewalMs = 10_000

/** Engines are asked after their work this often at first, and less often as it takes longer. */
export const pollFirstMs = 250
export const pollMostMs = 5_000
export const pollGrowth = 1.3

/**
 * An engine that is asked after its work answers within this, even where it takes in a video with the question. One that
 * does not is asked again, until the job is too old.
 */
export const engineAnswerMs = 5 * minuteMs

/** Jobs that one process looks after at once; the engines bound their own work further. */
export const jobsAtOnce = 64

/** How often the table is searched for jobs that nobody looks after. */
export const searchIntervalMs = 1_000

/** Without a verdict for this long a job fails and its charge is given back. */
export const longestJobMs = dayMs

/** Finished media stay this long; a download address is never good for longer (brief §2.7). */
export const mediaRetentionMs = dayMs

/** The typical time of a model is taken from this many of its last finished jobs. */
export const timedJobs = 100

/** What a model's typical time is said to be before it has finished a job. */
export const typicalMsBeforeHistory = 30_000

/** Jobs of a dead process that are freed in one commit at a start. */
export const freedJobs = 500

/** Jobs whose media are deleted one after the other before the next are read, and how often that is done in one sweep. */
export const expirySliceJobs = 100
export const expirySlices = 1_000
