/** Starts of each server that are thrown away, so that files and compiled code are in their caches. */
export const warmUpRounds = 3

/** Measured starts of each server, one after the other; odd, so that the median is one of them. */
export const coldStartRounds = 41

/** A server that has not answered by then is broken, in milliseconds. */
export const answerMs = 20_000

/** How long a server may take to end once its input is closed, in milliseconds, before it is killed. */
export const endMs = 2_000

/** Calls of each side in one block, and blocks of each, in turn; all together fewer than the 500 a minute that a key has. */
export const callsInBlock = 60
export const callBlocks = 5

/** Goals for the whole default set of tools. */
export const goals = {
  coldStartToServerEverything: 0.6,
  coldStartToOneTool: 1.15,
  tools: 20,
  listingTokens: 3_500,
  listingBytes: 32_000,
  limitsBeyondEchoMs: 1,
} as const
