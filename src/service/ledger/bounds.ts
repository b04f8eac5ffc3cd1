/** How long a hold outlives a process that died; long enough for a slow disk, short enough that credit comes back soon. */
export const holdLeaseMs = 30_000

/** A live hold is renewed this often, so that two renewals may fail before it lapses. */
export const holdRenewalMs = 10_000

/** What a stream has cost so far is written down this often, or after so many tokens: what a kill may lose of it. */
export const checkpointMs = 2_000
export const checkpointTokens = 256

/** Lapsed holds are freed in slices, so that a restart after a crash does not block the writer. */
export const recoverySlice = 500

/** How often lapsed holds are looked for. */
export const recoveryIntervalMs = 5_000
