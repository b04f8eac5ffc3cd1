/** Wallets whose account is remembered: the link is for good, so this only bounds memory (some 20 MB). */
export const cachedWallets = 50_000
