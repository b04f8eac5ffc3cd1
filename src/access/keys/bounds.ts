/** Every limit of identifying callers, with its unit. */

/** Random bytes of an API key's secret: 256 bits, so that guessing is hopeless and the hash needs no salt. */
export const keySecretBytes = 32

/** Characters of a key that lists show: enough to tell keys apart, and 184 bits stay unknown. */
export const keyPrefixCharacters = 9

export const keyEndingCharacters = 6

/** Characters of a key's label, as the published contract has it. */
export const keyLabelCharacters = 64

/** Keys that one account may list at once; the published contract allows 500 active ones. */
export const listedKeys = 1_000

/** How long a key that was found may be used without looking again: revocation in another process takes no longer. */
export const keyCacheMs = 1_000

/** Keys in that cache: more than one second of callers. */
export const cachedKeys = 10_000
