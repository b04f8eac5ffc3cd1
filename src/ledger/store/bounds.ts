import { dayMs, minuteMs } from '#contract/time.ts'

/** Every limit of the store, with its unit. */

/** Units in one commit: at 512 a batch takes about 10 ms, which is what a single caller may have to wait for it. */
export const batchUnits = 512

/**
 * Text of one commit: far below what one message to PostgreSQL may hold (1 GB), a small part of a second of a disk, and a
 * unit that is larger travels alone.
 */
export const batchCharacters = 16 * 1024 * 1024

/** Units waiting for the writer: about a second of work; more means that the disk has stopped keeping up. */
export const queuedUnits = 20_000

/** Any single amount: 10⁹ USD. Leaves room for thousands of them in a 64-bit sum. */
export const amountMicroUsd = 1_000_000_000_000_000n

/** What one integer column can hold. */
export const integerMaximum = 9_223_372_036_854_775_807n

/** Ids, refs, states, labels: everything that is indexed stays small. */
export const nameCharacters = 512

/** JSON texts of a job or a payment: the largest body that is accepted is 35 MB. */
export const jsonCharacters = 64 * 1024 * 1024

/** Lines of one capture: a request has a handful (model, search, pages read). */
export const captureLines = 64

/** Operations in one unit. */
export const unitOperations = 64

/** How long a statement waits for another connection: reads never block in WAL, so only a checkpoint or a backup can. */
export const busyTimeoutMs = 5_000

/** Pages that a backup copies in one step: 4 MB, a hundredth of a second. */
export const backupPages = 1_000

/** Rows that one slice of pruning deletes: about 6 ms, during which no commit runs. */
export const pruneSliceRows = 1_000

/** Slices of one pruning run; what is left waits for the next, so that a run ends in seconds. */
export const pruneSlices = 1_000

/** First outcomes are kept a week: far beyond the longest retry, a day. */
export const unitRetentionMs = 7 * dayMs

/** A nonce stays after its expiry for as long as clocks may differ, with room to spare (60 s are tolerated). */
export const nonceRetentionMs = 10 * minuteMs

/** An `Idempotency-Key` is honoured for a day (published contract); one whose work still runs stays until it ends. */
export const claimRetentionMs = dayMs

/** Rows of the log of met limits: a month, and never more than this many in all. */
export const limitLogRetentionMs = 30 * dayMs
export const limitLogRows = 1_000_000

/** Page cache of the writer, in KiB: the busy ends of every index fit, so that a commit seldom reads. */
export const writerCacheKiB = 32 * 1024

/**
 * Pages that SQLite's log gathers before they are written to their places: 16 MB. At the usual 1,000 a busy page is written
 * again every few commits, with two syncs each time; reading a log of this size after a kill takes some 20 ms.
 */
export const checkpointPages = 4_000

/** Accounts, open holds and keys that SQLite's writer keeps in memory, each: some 3 MB, and as many as are busy at a time. */
export const knownRowsMost = 10_000

/** How long a stopping service waits for readers of an older moment, an export for one, before it leaves its log as it is. */
export const closingCheckpointMs = 1_000

/** A unit whose outcome is unknown is repeated this often; its id makes a repeat harmless. */
export const surelyAttempts = 5
export const surelyRetryMs = 200

/** How far the clock of a process may be from that of a database which it shares: a lease (30 s) has to outlast twice of it and two renewals. */
export const mostClockDifferenceMs = 5_000
