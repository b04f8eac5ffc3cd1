/** Networks of one service. */
export const networkCount = 100

/** The credits of an account are read anew from the books after this: other processes of the service charge it too. */
export const creditsKnownMs = 60_000

/** Accounts whose credits of the day are remembered. */
export const countedAccounts = 10_000

/** When who has a call under way may come again: nodes answer within a second. */
export const inFlightRetryMs = 1_000
