/** Failures in a row after which an upstream is left out, or looked at where requests may have caused them. */
export const failuresToLeaveOut = 3

/** A probe is asked for once in this time: each costs its operator some tokens, and callers can bring one about. */
export const probeEveryMs = 5_000

/** What a loaded engine needs for a probe's few tokens at most; one that says nothing until then is gone. */
export const probeMs = 20_000

/** What a probe may generate: the least that all engines take. */
export const probeTokens = 16

/** How long it is left out at first, and at most; each trial that fails doubles it. */
export const leaveOutMs = 5_000
export const leaveOutMostMs = 60_000

/** One that says it is overloaded, and not for how long, is spared this long. */
export const spareMs = 1_000

/** The longest that an upstream's own Retry-After keeps calls from it. */
export const spareMostMs = 60_000

/** No other upstream is tried once a call is this old: its caller would not wait for a second long answer. */
export const failoverMs = 120_000

/** Calls at one upstream at once, where its operator says nothing: as many as there are connections to a server. */
export const usualConcurrency = 1_024

/** Calls that wait for a free upstream, where the operator says nothing. */
export const usualWaiting = 100

/** How long each of them waits at most. */
export const usualWaitMs = 30_000

/** Silence between two pieces of a stream, where the operator says nothing: longer than any engine here waits by itself. */
export const usualIdleMs = 120_000

/** What a caller is told to wait who found no place, until there are figures of how long calls take. */
export const usualCallMs = 1_000

/** The longest wait that such a caller is told. */
export const longestHintMs = 60_000

/** The newest call counts for so much of what a call takes on average. */
export const newestShare = 0.1
