import { minuteMs } from '#contract/time.ts'

/** A sign-in message serves this long after its `Issued At`, where a nonce serves once (published contract §2.2). */
export const signInAgeMs = 5 * minuteMs

/** The longest life of a sign-in message, whatever it says itself (the longest that the published contract recommends). */
export const signInLifeMs = 10 * minuteMs

/** How far a caller's clock may be from ours, either way. */
export const clockSkewMs = minuteMs

/** How far the envelope's `timestamp` may be from the signed `Issued At` (published contract §2.1). */
export const timestampToleranceMs = 30 * 1000

/** How long the message of a challenge is good for. */
export const challengeLifeMs = 5 * minuteMs

/** Random bytes of a challenge's nonce: 16 hex characters, as wallets make them. */
export const challengeNonceBytes = 8

/** A token that a wallet signs for a key is good this long (published contract §11.3). */
export const web3TokenLifeMs = 15 * minuteMs

/** Random bytes of such a token: hard to guess, and no two are the same. */
export const web3TokenBytes = 16

/** Threads that recover EVM signers, at most: one makes some 600 a second, and the engines want the other cores. */
export const verifierThreads = 4

/** Signatures waiting for those threads: about a second of work for one; beyond it callers are told to retry. */
export const waitingSignatures = 512

/** Characters of a nonce: wallets make 16, and it becomes part of a row's id. */
export const nonceCharacters = 128

/** Retry-After while too many signatures wait. */
export const busyRetryMs = 1_000

/** Good sign-ins that are remembered by their nonce: a replay costs no curve arithmetic (some 20 MB of messages). */
export const rememberedSignIns = 20_000

/** Characters of an `Authorization` header: far above our own keys, far below what costs anything to look at. */
export const authorizationCharacters = 4_096
