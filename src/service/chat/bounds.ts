/** How long an engine that was aborted may take to say what it used; what it delivered is counted here otherwise. */
export const usageWaitMs = 5_000

/** A hold is extended once this part of its tokens is used, so that a stream does not wait for credit. */
export const extendFromShare = 0.75

/** An engine that goes on beyond its limit is cut off at so many times the limit: tokenizers differ, but not by this much. */
export const overrunFactor = 2
