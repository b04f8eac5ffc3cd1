import { admissionFloorUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of the ledger, with its unit: of charges and audits, of the store, of PostgreSQL. */

/**
 * How long a hold outlives a process that died; long enough for a slow disk, short enough that credit is soon free
 * again.
 */
export const holdLeaseMs = 30_000

/** How often a live hold is renewed, so that two renewals may fail before it lapses. */
export const holdRenewalMs = 10_000

/** How often, in time or tokens, a stream's cost so far is written. A kill loses at most this. */
export const checkpointMs = 2_000
export const checkpointTokens = 256

/**
 * How often open charges are checked, and how many of them may report their cost per round: counting a prompt for the
 * first time takes a millisecond or more, and blocks all other requests. With more than 256 streams, the others wait
 * for their turn. A round that is late, because the machine is busy, also has the turns of the rounds that it replaces,
 * up to those of `checkpointMs`.
 */
export const renewalTickMs = 250
export const checkpointsATick = 32
export const mostTicksAtOnce = checkpointMs / renewalTickMs

/**
 * How old a read balance may be when it is used for the hold of the same request. If the body arrives slowly, the
 * balance is read again.
 */
export const spendableForMs = 250

/** Lapsed holds are freed in slices, so that a restart after a crash does not block the writer. */
export const recoverySlice = 500

/** Lapsed holds per check: more than a killed process leaves, and some megabytes of memory. */
export const lapsedAtOnce = 20_000

/** Holds of dead processes that SQLite ends in one transaction: some 50 ms, and few bytes of its log. */
export const deadHoldsTogether = 5_000

/** Attempts to charge a call whose hold is gone, while other calls of its account use the credit. */
export const anewAttempts = 3

/**
 * How many old entries are read, and folded in one transaction, at once (some 50 ms, during which no commit runs); and
 * how many accounts are read at once.
 */
export const foldedAtOnce = 5_000
export const compactedAccounts = 500

/** How many of the calls and jobs that prevent compaction an error names: one is enough to act on. */
export const openWorkListed = 10

/**
 * Whole months of entries that compaction keeps as they are: a year for customers' questions; at least two, at most a
 * century.
 */
export const monthsKept = 12
export const fewestMonthsKept = 2
export const mostMonthsKept = 1_200

/** How often lapsed holds are searched. */
export const recoveryIntervalMs = 5_000

/** How often the ledger is checked while the service runs. */
export const watchIntervalMs = 30_000

/** Entries per check: 3 ms each, because SQLite reads block everything else. The next check continues. */
export const watchedEntries = 500
export const watchedAccounts = 500

/** Slices of each kind that a start checks before it serves, some 0.1 s; larger ledgers are covered while it runs. */
export const slicesAtStart = 10

/** Size of a piece of an export: large enough to write efficiently, small compared with memory. */
export const exportChunkCharacters = 64 * 1024

/** How long an audit waits for a node's answer, how often it tries, and the first of its pauses, which double. */
export const chainAttemptMs = 20_000
export const chainAttempts = 4
export const chainRetryMs = 500

/** Blocks per request for transfers: nodes refuse more than about 10,000. */
export const chainWindowBlocks = 5_000n

/** Transactions per request for an account; the maximum of a Solana node. */
export const listedSignatures = 1_000

/** How far a chain's clock may be behind ours when the first payment is searched. */
export const chainClockMs = hourMs

/**
 * How long arrived money may wait for its credit before an audit reports it: the highest number of confirmations takes
 * half of this.
 */
export const settlingMs = hourMs

/** The minimum credit of a caller before a service works for it. */
export const admissionFloor = microUsd(Math.round(admissionFloorUsd * 1e6))

/** Units per commit: at 512 a batch takes about 10 ms, the most that a single caller waits for it. */
export const batchUnits = 512

/**
 * Characters per commit: far below PostgreSQL's limit for a message (1 GB), and written in a small part of a second; a
 * larger unit is sent alone.
 */
export const batchCharacters = 16 * 1024 * 1024

/**
 * After a batch of this many units, the next waits up to this many milliseconds for as many again: in a batch of 16 a
 * unit costs half as much as in a batch of 4. For smaller batches the wait would cost more than it saves.
 */
export const gatherFromUnits = 4
export const gatherMs = 2

/** Units waiting for the writer: about a second of work; more means that the disk no longer keeps up. */
export const queuedUnits = 20_000

/** Largest single amount: 10⁹ USD. Thousands of them fit into a 64-bit sum. */
export const amountMicroUsd = 1_000_000_000_000_000n

/** The largest value of an integer column. */
export const integerMaximum = 9_223_372_036_854_775_807n

/** Longest id, ref, state or label, because everything that is indexed must stay small. */
export const nameCharacters = 512

/** Longest JSON text of a job or payment: the largest accepted body is 35 MB. */
export const jsonCharacters = 64 * 1024 * 1024

/** Lines of one capture: a request has a handful (model, search, pages read). */
export const captureLines = 64

/** Operations in one unit. */
export const unitOperations = 64

/**
 * How long a statement waits for another connection: in WAL mode reads never block, so only a checkpoint or a backup
 * can.
 */
export const busyTimeoutMs = 5_000

/** Pages that a backup copies per step: 4 MB, a hundredth of a second. */
export const backupPages = 1_000

/** Rows deleted per slice of pruning: about 6 ms, during which no commit runs. */
export const pruneSliceRows = 1_000

/** Slices per pruning run, so that it ends in seconds; the rest waits for the next run. */
export const pruneSlices = 1_000

/** First outcomes are kept for a week, far longer than the longest retry, which is a day. */
export const unitRetentionMs = 7 * dayMs

/** How long a nonce is kept after it expires: clocks may differ by 60 s, plus a margin. */
export const nonceRetentionMs = 10 * minuteMs

/** An `Idempotency-Key` is valid for a day (published contract); one whose work still runs is kept until it ends. */
export const claimRetentionMs = dayMs

/** Rows of the limit log: a month, and at most this many in total. */
export const limitLogRetentionMs = 30 * dayMs
export const limitLogRows = 1_000_000

/** Page cache of the writer, in KiB: the busy ends of every index fit, so that a commit rarely reads. */
export const writerCacheKiB = 32 * 1024

/**
 * Pages in SQLite's log before a checkpoint: 16 MB. With the default of 1,000, a busy page is rewritten every few
 * commits, with two syncs each time; reading a log of this size after a kill takes some 20 ms.
 */
export const checkpointPages = 4_000

/** How many accounts, open holds and keys SQLite's writer caches, each: as many as are busy at once, in some 3 MB. */
export const knownRowsMost = 10_000

/**
 * A cached balance that no unit has touched for this long is reread, so that manual changes to the file are noticed.
 */
export const balanceKnownForMs = 5_000

/**
 * How long a stopping service waits for readers of an older snapshot, such as an export, before it stops without
 * merging the log.
 */
export const closingCheckpointMs = 1_000

/** How often a unit with unknown outcome is repeated; its id makes a repeat harmless. */
export const surelyAttempts = 5
export const surelyRetryMs = 200

/**
 * How far a process's clock may be from its shared database's: a lease (30 s) must outlast twice this and two renewals.
 */
export const mostClockDifferenceMs = 5_000

/** Timeout of one attempt to connect to PostgreSQL. */
export const connectTimeoutMs = 5_000

/**
 * A batch takes milliseconds; one that waits longer than this for locks is cancelled by the database and sent again.
 */
export const statementTimeoutMs = 15_000

/** Longer than the database's own limit, so that this only catches a database that went silent. */
export const answerTimeoutMs = 20_000

/**
 * How often a batch is resent after a lost connection, with growing pauses: 25 s in total, enough for a restart or a
 * failover.
 */
export const sendAttempts = 30

/**
 * No attempt starts later than this after the first, because on a network that drops everything each attempt takes
 * long.
 */
export const sendAttemptsForMs = 60_000
export const firstRetryMs = 20
export const longestRetryMs = 1_000

/**
 * How long a database must be unreachable before this is reported while statements still wait: a cut connection is
 * replaced sooner.
 */
export const troubleAfterMs = 1_000

/** Connections for reads: most take less than a millisecond, so a few serve many callers. */
export const readConnections = 6

/** How long reads share one connection after the server had none left for writing. */
export const readsYieldForMs = minuteMs

/**
 * A read that occurs this often is prepared, so that each connection plans it once; and how many different reads are
 * counted.
 */
export const namedFromTimes = 16
export const statementsCounted = 100

/** Database time limit of a read, which may be large (an export, an hour of the log). */
export const readTimeoutMs = 60_000

/** Longer than the database's own limit, for the same reason as with writes. */
export const readAnswerTimeoutMs = 65_000

/** TCP keep-alive delay of an idle connection, so that a vanished database is noticed. */
export const keepAliveDelayMs = 10_000

/** The oldest supported PostgreSQL version. */
export const oldestServerVersion = 140_000

/** How often a unit that met a deadlock or a long lock is tried again. */
export const transientAttempts = 5
