/** Every limit of the PostgreSQL store, with its unit. */

/** What one connection attempt may take. */
export const connectTimeoutMs = 5_000

/** A batch takes milliseconds; one that waits longer than this for locks is given up by the database and sent again. */
export const statementTimeoutMs = 15_000

/** Longer than the database's own limit, so that only a database that went silent is cut off here. */
export const answerTimeoutMs = 20_000

/** After a lost connection the same batch is sent again this often, after growing pauses: 25 s in all, a restart or a fail-over. */
export const attempts = 30

/** No attempt begins later than this after the first, because a network that swallows everything makes each of them long. */
export const attemptsForMs = 60_000
export const firstRetryMs = 20
export const longestRetryMs = 1_000

/** A database that has been away for so long is told of, while statements still wait for it: a cut connection is replaced sooner. */
export const troubleAfterMs = 1_000

/** Connections for reads: most are answered within a millisecond, so few serve many callers. */
export const readConnections = 6

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
