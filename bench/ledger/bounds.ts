/** Rounds of all phases in turn; odd, so that the median is one of them. */
export const rounds = 5

/** Length of one phase of a round, in milliseconds. */
export const phaseMs = 1_000

/** Warm-up before the first round, in milliseconds: plans, caches and compiled code. */
export const warmUpMs = 1_500

/** Customers over which calls are spread; each may make 500 requests a minute over HTTP. */
export const customers = 400

/** Units per transaction of bare rows: at most as many as there are callers. */
export const floorUnits = 64

/**
 * Length of each phase over HTTP, in milliseconds: 400 customers reach their limit after a minute at 3,333 requests/s.
 */
export const httpPhaseMs = 5_000
export const httpRounds = 3

/** Added to every sync of the slow disk, in milliseconds. */
export const slowSyncMs = 2

/** A child that has not answered by then is broken, in milliseconds. */
export const childMs = 120_000

/** Units per second, relative to bare single commits per second on the same store and disk. */
export const goals = {
  oneCaller: 0.35,
  manyCallers: 6,
  manyCallersOnSlowDisk: 20,
  /** Relative to the same rows in plain statements, 64 units per transaction. */
  besideSameRows: 0.8,
  paidRequestsPerSecond: 3_000,
} as const
