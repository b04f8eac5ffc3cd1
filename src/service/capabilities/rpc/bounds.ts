/** Networks of one service. */
export const networkCount = 100

/** An account's credits are read from the ledger again after this, because other processes charge it too. */
export const creditsKnownMs = 60_000

/** Accounts whose credits of the day are remembered. */
export const countedAccounts = 10_000

/** When to retry while another call of the account is in flight: nodes answer within a second. */
export const inFlightRetryMs = 1_000
