/** Every limit of the fault runs, with its unit. */

export const defaultKills = 10
/** A kill with its load and its restart takes a few seconds; ten thousand are a night. */
export const mostKills = 10_000

/** Acknowledged operations before a kill may come: enough that each of the loads had its turn. */
export const operationsBetweenKills = 50

/** After those the kill comes within this time, at a moment that the seed draws. */
export const killWithinMs = 600

/**
 * A kill also waits until so many streams have been read for so long: longer than two checkpoints are apart, so that
 * recovery has something to charge.
 */
export const streamsBeforeKill = 6
export const streamReadMs = 3_200

/** The engine's pause before each piece of a slow stream: with 400 numbers it outlives any round, and ends within `requestMs`. */
export const slowPauseMs = 40

/** Credit of an account that has one stream: a fifth of it holds some 300 tokens, so its hold is extended on the way. */
export const streamCreditMicroUsd = 1_200n

/** What a kill may lose of a stream: this many tokens, or what came within this time, which is 2 s, a tick, and a commit beside other work. */
export const lostTokens = 256
export const lostMs = 3_500
/** Tokens within the bound of `lostTokens` have had this long to get into a commit. */
export const commitMs = 1_500

/** Tokens that the engine has made and that the kill kept from the reader. */
export const aheadTokens = 256

/** A stream on a service that was not killed is left this long after its round is over. */
export const leaveAfterMs = 500

/** On shared ledger a killed service may have a commit under way for this long. */
export const lastCommitMs = 500

/** Charges by recovery, as a share of all charges: with fewer a run of kills has not tested recovery. */
export const leastRecoveredShare = 0.02

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

/** Beyond a lease's end: 15 s in which its owner could have renewed it, a round of recovery (5 s) before and after, and a restart in between. */
export const recoveryMs = 40_000

/**
 * Who shares ledger ends no hold before they were calm for 15 s, which services that are killed in turns with their
 * database may never let them be: only at rest must all of them have come free.
 */
export const sharedLapsedMs = 60 * 60 * 1000

/** What one start of the server is given at first, and what right before its kill, so that the kill meets some under way. */
export const budgetAtStart = { payments: 2, solanaPayments: 1, videos: 1, keys: 2, stakers: 1, keyConflicts: 12 }
/** Below the 10 new payments a minute that the server takes from an address. */
export const newPaymentsOfAStart = 9
/** With those at the start, and one of each staker, it is below the 10 new payments a minute that the server takes from an address. */
export const budgetBeforeKill = { payments: 3, solanaPayments: 2, videos: 1 }

/** Each video costs an encode. */
export const videosInAll = 200

export const wallets = 4
export const solanaWallets = 2
/** Far more than a wallet can top up in a run. */
export const walletMicroUsd = 100_000_000_000n

/** The credit of each customer with a key, and how many have no other part than to call. */
export const customerUsd = '500'
export const plainCustomers = 2

/** So many stake before the first load, and each has this beside, so that it is let in. */
export const stakersAtFirst = 2
export const stakerMicroUsd = 5_000_000n

/** What a stake gives a day, and a budget lets through: some calls of the load, so that each is soon used up. */
export const dailyCredit = { leastMicroUsd: 60n, drawnMicroUsd: 400 }
export const keyBudget = { leastMicroUsd: 200n, drawnMicroUsd: 600 }

/** What a call of these loads may ask for in tokens, and the most that it is held for: answer and prompt, whose every byte counts as a token. */
export const boundedTokens = 100
export const boundedHoldMicroUsd = 150n

/** Calls that a budget refuses, of one load and start: answers without success count towards the abuse block. */
export const budgetRefusals = 2

/** What a killed process has held is free after its lease, a round of recovery and a restart in between. */
export const heldAfterKillMs = 60_000

/** A gigabyte has a hundred cuts; for every twenty cuts the process is killed once. */
export const bytesACut = Math.ceil(2 ** 30 / 100)
export const cutsAKill = 20
export const mostCuts = 10_000
/** What a server hands to the system at once. */
export const pieceBytes = 64 * 1024
/** A good line of today; pauses shorter than this are saved up. */
export const lineBytesASecond = 24 * 1024 * 1024
export const linePauseMs = 5
/** Goals of a download: bytes over the wire, as a share of the file, and memory that it takes. */
export const wireGoal = 1.02
export const grownBytesGoal = 64 * 1024 * 1024
export const memorySampleMs = 200

/** Midnight is another day for a hold that was taken before and is charged after it. */
export const midnightMs = 60_000

/** A repeat of a keyed call that may still run, at the end. */
export const keyedAgainMs = 4_000
export const keyedTries = 15

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
