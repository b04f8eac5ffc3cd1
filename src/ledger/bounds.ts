import { admissionFloorUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of the ledger, with its unit: of charges and audits, of the store, of PostgreSQL. */

/** How long a hold outlives a process that died; long enough for a slow disk, short enough that credit comes back soon. */
export const holdLeaseMs = 30_000

/** A live hold is renewed this often, so that two renewals may fail before it lapses. */
export const holdRenewalMs = 10_000

/** What a stream has cost so far is written down this often, or after so many tokens: what a kill may lose of it. */
export const checkpointMs = 2_000
export const checkpointTokens = 256

/**
 * Open charges are gone through this often, and so many of them at most say what they owe: the first time a prompt is
 * counted, a millisecond or more, and nobody is answered meanwhile. With more than 256 streams the rest waits its turn.
 */
export const renewalTickMs = 250
export const checkpointsATick = 32

/** So old may what was read of an account be for the hold of the same request; a body that takes its time has it read again. */
export const spendableForMs = 250

/** Lapsed holds are freed in slices, so that a restart after a crash does not block the writer. */
export const recoverySlice = 500

/** Lapsed holds that one look sees: more than a process leaves behind, and some megabytes. */
export const lapsedAtOnce = 20_000

/** So many of them by one unit, where nobody can still be working under them: a unit may have 64 operations. */
export const recoveryTogether = 50

/** Attempts to charge a call again whose hold is gone, while other calls of its account take the credit that was seen. */
export const anewAttempts = 3

/** How often lapsed holds are looked for. */
export const recoveryIntervalMs = 5_000

/** How often the books are looked over while the service runs. */
export const watchIntervalMs = 30_000

/** Of one look: 3 ms each, as reads of SQLite keep everyone else waiting. What is left comes with the next. */
export const watchedEntries = 500
export const watchedAccounts = 500

/** Slices of either that a start looks over before it serves, some 0.1 s; larger books come round while it runs. */
export const slicesAtStart = 10

/** A piece of an export: large enough that writing it is no matter, small beside any memory. */
export const exportChunkCharacters = 64 * 1024

/** How long an audit waits for one answer of a node, how often it asks, and the first of its pauses, which double. */
export const chainQuestionMs = 20_000
export const chainQuestions = 4
export const chainRetryMs = 500

/** Blocks of one question for transfers: nodes refuse more than about 10,000. */
export const chainWindowBlocks = 5_000n

/** Transactions of an account that a Solana node lists at once, at most. */
export const listedSignatures = 1_000

/** How far a chain's clock may be behind ours when the first payment is looked for. */
export const chainClockMs = hourMs

/** How long money that came may wait for its credit before an audit finds fault: the deepest confirmations take half of it. */
export const settlingMs = hourMs

/** What a caller must have before a service works for it at all. */
export const admissionFloor = microUsd(Math.round(admissionFloorUsd * 1e6))

/** Units in one commit: at 512 a batch takes about 10 ms, which is what a single caller may have to wait for it. */
export const batchUnits = 512

/**
 * Text of one commit: far below what one message to PostgreSQL may hold (1 GB), a small part of a second of a disk, and a
 * unit that is larger travels alone.
 */
export const batchCharacters = 16 * 1024 * 1024

/**
 * After a batch of so many units the next one waits so long for as many again, in milliseconds: a unit of a batch of 16 costs
 * half of one in a batch of 4. Below that the wait would cost more than it saves.
 */
export const gatherFromUnits = 4
export const gatherMs = 2

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

/** A balance that no unit has touched for so long is read again, so that nothing done to the file by hand stays hidden. */
export const balanceKnownForMs = 5_000

/** How long a stopping service waits for readers of an older moment, an export for one, before it leaves its log as it is. */
export const closingCheckpointMs = 1_000

/** A unit whose outcome is unknown is repeated this often; its id makes a repeat harmless. */
export const surelyAttempts = 5
export const surelyRetryMs = 200

/** How far the clock of a process may be from that of a database which it shares: a lease (30 s) has to outlast twice of it and two renewals. */
export const mostClockDifferenceMs = 5_000

/** What one attempt to connect to PostgreSQL may take. */
export const connectTimeoutMs = 5_000

/** A batch takes milliseconds; one that waits longer than this for locks is given up by the database and sent again. */
export const statementTimeoutMs = 15_000

/** Longer than the database's own limit, so that only a database that went silent is cut off here. */
export const answerTimeoutMs = 20_000

/** After a lost connection the same batch is sent again this often, after growing pauses: 25 s in all, a restart or a fail-over. */
export const sendAttempts = 30

/** No attempt begins later than this after the first, because a network that swallows everything makes each of them long. */
export const sendAttemptsForMs = 60_000
export const firstRetryMs = 20
export const longestRetryMs = 1_000

/** A database that has been away for so long is told of, while statements still wait for it: a cut connection is replaced sooner. */
export const troubleAfterMs = 1_000

/** Connections for reads: most are answered within a millisecond, so few serve many callers. */
export const readConnections = 6

/** A read that came so often is prepared, so that its plan is made once a connection; and so many different ones are counted. */
export const namedFromTimes = 16
export const statementsCounted = 100

/** A read may be large (an export, an hour of the log), but never longer than this in the database. */
export const readTimeoutMs = 60_000

/** Longer than the database's own limit, for the same reason as with writes. */
export const readAnswerTimeoutMs = 65_000

/** An idle connection is kept alive by the network layer after this, so that a database that vanished is noticed. */
export const keepAliveDelayMs = 10_000

/** The oldest PostgreSQL that is tried. */
export const oldestServerVersion = 140_000

/** A unit that met a deadlock or a lock held for too long is judged again this often. */
export const transientAttempts = 5
