/** Rounds of all phases in turn; odd, so that the median is one of them. */
export const rounds = 5

/** How long one phase of a round is measured, in milliseconds. */
export const phaseMs = 1_000

/** Thrown away before the first round, in milliseconds: plans, caches and compiled code. */
export const warmUpMs = 1_500

/** Customers that calls are spread over; each may make 500 requests a minute over HTTP. */
export const customers = 400

/** Units in one transaction of bare rows: as many as there are callers at most. */
export const floorUnits = 64

/** How long each try over HTTP is measured, in milliseconds: 400 customers reach their limit at 3,333 requests/s in a minute. */
export const httpPhaseMs = 5_000
export const httpRounds = 3

/** What is added to every sync of the slow disk, in milliseconds. */
export const slowSyncMs = 2

/** A child that has not answered by then is broken, in milliseconds. */
export const childMs = 120_000

/** Units a second, as a share of bare single commits a second of the same store and disk. */
export const goals = {
  oneCaller: 0.35,
  manyCallers: 6,
  manyCallersOnSlowDisk: 20,
  /** As a share of the same rows in plain statements, 64 units a transaction. */
  besideSameRows: 0.8,
  paidRequestsPerSecond: 3_000,
} as const
