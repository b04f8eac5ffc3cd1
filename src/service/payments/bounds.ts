/** Every limit of payments, with its unit. */

/** How far a payer's clock may be from ours, either way. */
export const clockSkewSeconds = 60

/** What an authorisation must still have: time to send it and to be part of a block. */
export const minimumSecondsLeft = 10

/** How long a request waits for its payment before it answers that it is pending; the work goes on without it. */
export const answerWaitMs = 10_000

/** Between two looks at a row that another process works on. */
export const rowPollMs = 100

/** Who drives a payment must take its next step within this; above what all steps of one attempt may take together. */
export const leaseMs = 30_000

/** Payments that one process works on at once: each waits for the chain, so more would only wait longer. */
export const paymentsInFlight = 500

/** One question to a node. */
export const rpcTimeoutMs = 5_000

/** Of such a question, for a connection that broke; a node that is down should be known as down soon. */
export const rpcRetries = 1

/** For the receipt of what was sent: five blocks of Base. A payment that needs longer is finished later. */
export const receiptTimeoutMs = 10_000

/** Between two looks for that receipt. */
export const receiptPollMs = 100

/** Looks at the chain for a transfer that was just sent or settled; a node may be a block behind its sibling. */
export const landingLooks = 10
export const landingLookMs = 100

/** Between two of these looks where the transfer is there and its block may still be dropped: half a block of Base. */
export const confirmationLookMs = 1_000

/** The deepest that a payment may be asked to lie: half an hour of Base, which no payer would wait longer than. */
export const mostConfirmations = 1_000

/** Of these looks, how many may meet a chain that does not answer: each may take two questions' time. */
export const failedLooks = 2

/** How often payments that nobody drives any more are looked for, and how many of them one round takes. */
export const completionIntervalMs = 5_000
export const completionRows = 100

/** Payments of a dead process that are freed in one commit at a start. */
export const freedRows = 500

/** After `validBefore`, before a payment counts as expired; the chain's own clock must have passed it as well. */
export const expiryMarginSeconds = 60

/** Blocks of one search for a used authorisation: nodes refuse more than about 10,000. */
export const logWindowBlocks = 5_000n

/** Windows of one search: 500,000 blocks, eleven days of Base. */
export const logWindows = 100

/** Seconds after which a pending payment is worth another question. */
export const retryAfterSeconds = 2

/** Of a refusal that repeats what was wrong with a text. */
export const quotedCharacters = 120
