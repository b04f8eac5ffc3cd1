/** Every limit of staking credit, with its unit. */

/** How long a stake that was read counts: people stake rarely, and a node should not be asked for every call. */
export const stakeFreshMs = 60_000

/** After a question that was not answered the next one waits this long; calls meanwhile go by what is known. */
export const stakeRetryMs = 10_000

/** How long a call waits for a stake to be read: a node answers within 0.3 s, and USD must not wait for a dead one. */
export const stakeAnswerMs = 2_000

/** Accounts whose stake is remembered: some 10 MB. The one that called longest ago goes first. */
export const rememberedStakes = 50_000

/** Wallets of one account whose stakes are added up; each is a question to the node. */
export const stakingWallets = 20

/** Decimals of a staking token: ERC-20 has 18, and no contract in use more than 36. */
export const stakeDecimals = 36
