/** How many times as often as in a sound run an expression may be reached before its loop counts as endless. */
export const timesOverReached = 200

/** How long a test may take with a change in it: many times what the slowest takes that says nothing of its own. */
export const changedTestMs = 5_000

/** What a test waits for with a change in it comes by then, or not at all. */
export const changedPollMs = 1_500

/** So long without a word from the tests, and the change that is tried has stopped them for good. */
export const silenceMs = 120_000

/** How often a test file is begun again where a change left something behind that the next try cannot work with. */
export const beginnings = 40
