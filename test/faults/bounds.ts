/** Every limit of the fault runs, with its unit. */

export const defaultKills = 10
/** A kill with its load and its restart takes a few seconds; ten thousand are a night. */
export const mostKills = 10_000

/** Acknowledged operations before a kill may come: enough that each of the loads had its turn. */
export const operationsBetweenKills = 50

/** After those the kill comes within this time, at a moment that the seed draws. */
export const killWithinMs = 600

/** A load that does not get so far in this time is a failure by itself. */
export const loadMs = 60_000

/** One restart in so many is killed once more while it starts, within this time. */
export const killedStarts = 4
export const killedStartMs = 1_500

/** A start that is to die by itself at a point has this long to come by it. */
export const armedStartMs = 7_000

/** A point is come by within this time of a load that leads there; a video takes two seconds on a busy machine. */
export const pointMs = 15_000
/** A start that finds ten thousand open holds answers within this, by the store; goals for two shared cores. */
export const readyGoalMs = { sqlite: 1_000, postgres: 5_000 }
export const mostOpenHolds = 1_000_000

/** A disk stays full until so many callers have met an error, or for so long. */
export const fullErrors = 5
export const diskFullMs = 30_000
export const mostFullDisks = 1_000

/** A clock is wrong by up to this, either way; it jumps so often in one life, and its load runs on in between. */
export const clockJumpMs = 600_000
export const clockJumps = 4
export const clockPauseMs = 3_000
export const mostClockLives = 1_000

/** How long a trouble of the network lasts before the next one, or before it is well again. */
export const networkTroubleMs = 1_500
export const mostTroubles = 10_000

/** A flow that makes more commits than this goes in circles. */
export const mostCommits = 60
/** Rounds over every commit of every flow. */
export const mostRounds = 100

/** Each point of each flow costs a few lives of the server. */
export const mostPasses = 1_000

/** A database that was killed stays away for up to this long. */
export const databaseAwayMs = 1_500
/** After that, until a service answers a paid call again; a caller that met errors may be blocked for half a minute. */
export const answeredAgainMs = 45_000
export const answerPollMs = 250

/** From the start of the process to its `ready`, on a machine that is busy. */
export const startMs = 60_000

/** A clean stop: running answers, then the chain's state. */
export const stopMs = 30_000

/** One request; a top-up waits up to 10 s for its settlement. */
export const requestMs = 30_000

/** Leases last 30 s, then jobs are drawn anew; twice that and room for a busy machine. */
export const quietMs = 240_000
export const quietPollMs = 250

/** Beyond a lease's end: one round of recovery (5 s), and a restart in between. */
export const recoveryMs = 20_000

/** What one start of the server is given at first, and what right before its kill, so that the kill meets some under way. */
export const budgetAtStart = { payments: 3, videos: 1 }
/** Below the 10 new payments a minute that the server takes from an address. */
export const newPaymentsOfAStart = 9
/** With those at the start it is below the 10 new payments a minute that the server takes from an address. */
export const budgetBeforeKill = { payments: 5, videos: 1 }

/** Each video costs an encode. */
export const videosInAll = 200

export const wallets = 4
/** Far more than a wallet can top up in a run. */
export const walletMicroUsd = 100_000_000_000n

/** Customers with a key, and their credit; one of them for probes alone. */
export const customers = 3
export const customerUsd = '500'

/** Jobs whose file is fetched once more at the end. */
export const filesFetched = 10

/** Of what an unexpected answer said. */
export const quotedCharacters = 300

/** Failures that are printed one by one. */
export const failuresPrinted = 40

/** Losses of power of one run; each costs a tenth of a second. */
export const mostImages = 100_000

/** Acknowledged units of the load whose writes are recorded: enough for several checkpoints. */
export const powerUnits = 3_000
