/** Every limit of the wallet's fault runs, with its unit. */

export const usualRounds = 20
/** A round takes a second or two; so many are a night. */
export const mostRounds = 50_000

export const leastProcesses = 2
export const mostProcesses = 8
export const mostActions = 4

/** What the armed wallet waits for an answer to a payment; the service's silence lasts longer, its slowness less long. */
export const sendTimeoutMs = 300
export const silenceMs = 450
export const slowMs = 120
/** A kill at no point comes within this time. */
export const randomKillMs = 250
/** A process that waits in the middle of a decision goes on after this; others can only wait for it. */
export const inDecisionMs = 150
/** How often a process that waits looks for its gate. */
export const gatePollMs = 5
/** A process that is at work longer than this hangs. */
export const workMs = 120_000

/** Of one offer, and with it of each authorization. */
export const authorizationSeconds = 300
export const cooldownMs = 60_000
/** Later than any authorization and the margin in which only the service could say that it is over. */
export const validityOverMs = (authorizationSeconds + 600 + 60) * 1_000
/** Between the two waves of a round: a moment, within the cooldown, past it, past an authorization, past a day. */
export const jumpsMs = [0, 20_000, cooldownMs + 1_000, validityOverMs, 25 * 60 * 60 * 1_000] as const

/** From so many rounds on every state has to be met; below it is only told which were not. In 320 each point was halted at. */
export const roundsForAll = 500

/** With the smallest top-up, nearly each call needs a payment of its own. */
export const callUsd = 4
/** Above it the user is asked, in rounds that have one. */
export const askAboveUsd = 5
export const toldEvery = 10
