/** How long a stopping service waits for running answers. */
export const drainMs = 30_000

/** How often lapsed rows, old media and old nonces are swept. */
export const sweepIntervalMs = 60_000

/** Books that were unreachable are asked again after this, and so long after the last failure. */
export const awayAskMs = 1_000

/** How often the log repeats that they still are. */
export const awayTellMs = 60_000
