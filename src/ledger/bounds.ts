import { admissionFloorUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'

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

/** Attempts to charge a call anew whose hold is gone, while other calls of its account take the credit that was seen. */
export const anewAttempts = 3

/** How often lapsed holds are looked for. */
export const recoveryIntervalMs = 5_000

/** How often the books are looked over while the service runs. */
export const watchIntervalMs = 30_000

/** Of one look: 3 ms each, as reads of SQLite keep everybody else waiting. What is left comes with the next. */
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
