/** Every limit of the twin runs, with its unit. */

export const defaultPayments = 50
export const defaultTwins = 200
/** A thousand of each is an hour. */
export const mostPayments = 1_000
export const mostTwins = 1_000

/** Requests that are under way at once, each on a connection of its own: all run in one process, beside what answers them. */
export const requestsAtOnce = 400

/** One request: the service answers after `answerWaitMs` at the latest, on a machine that is busy. */
export const requestMs = 60_000

/** How long the service lets a request wait for its payment: shorter than it does, so that many meet a pending one. */
export const answerWaitMs = 1_500

/** How long the service waits for the facilitator: the same ratio to its lateness as in life, at a tenth of the time. */
export const facilitatorAnswerMs = { verify: 20_000, settle: 500, supported: 5_000 }

/** A facilitator that settles late does so after the service has looked at the chain for the last time: after a second. */
export const lateMs = 2_000

/** Between two sends of a payment that is not credited yet, and how long that may go on. */
export const resendMs = 500
export const creditedWithinMs = 120_000

/** Of a finding that quotes an answer. */
export const quotedCharacters = 300
/** Findings that are printed. */
export const findingsPrinted = 20
