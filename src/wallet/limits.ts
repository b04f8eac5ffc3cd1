import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of the wallet, with its unit and the reason for the number. */

/** Several assistants share the file. A decision takes milliseconds, so after this time another process is stuck. */
export const busyTimeoutMs = 10_000
/** How often opening a new file is retried while another process switches it to WAL. */
export const openAttempts = 50
export const openPauseMs = 100

/** The default caps (USD as text, so that money is never a float). */
export const defaultCaps = {
  maxPaymentUsd: '5',
  maxDayUsd: '10',
  maxTotalUsd: '20',
  maxCallUsd: '10',
  askAboveUsd: '1',
}
/** The window of the daily cap is rolling, so that midnight does not double it. */
export const capWindowMs = dayMs
/** A cap above this is taken for a typing mistake. */
export const highestCapMicroUsd = 1_000_000_000_000n

/** Anyone who holds an authorization can collect it, so a short one limits the risk of a lost answer. */
export const maxAuthorizationSeconds = 600
/** A payment needs a few seconds on the chain; an offer below this could not be settled honestly. */
export const minAuthorizationSeconds = 5
/**
 * Margin after an authorization has expired, for clocks that differ and late blocks; then its outcome can be
 * determined.
 */
export const deadMarginMs = 120_000
/** A larger margin if only the service reports the outcome and the chain is not checked. */
export const deadMarginWithoutChainMs = 600_000

/** Two top-ups after a 402 within this time mean that the first one did not help; neither would a third. */
export const cooldownMs = 60_000
/**
 * A refill that needs the user's approval, or that failed, is tried again after this time, because calls are frequent.
 */
export const refillAgainMs = 60_000
/**
 * This fraction of a refill must show up in the next reported credit, or refilling stops. Calls spend some of it
 * meanwhile.
 */
export const refillShown = { numerator: 1n, denominator: 2n }
/**
 * A 402 that was sent before a payment was credited arrives within this time after the payment: check again instead of
 * paying.
 */
export const lookAgainMs = 10_000

/** The value of the setting that means: ask no node. */
export const noNode = 'none'

/** Timeout of a node request that signing or ending a payment depends on. */
export const nodeTimeoutMs = 10_000
/** Timeout for a balance or a chain's time. A silent node is no reason to refuse, so the wait must be short. */
export const lookTimeoutMs = 3_000
/** Most answers are a few hundred bytes; a Base block lists the hashes of its transactions, thousands at most. */
export const nodeAnswerBytes = 1_048_576
/**
 * Largest difference between our clock and the service's or the chain's: beyond this, a payment would be valid for too
 * long, or count on another day.
 */
export const clockSkewMs = 10 * minuteMs
/** Compute units of a Solana transfer with a memo; a higher limit would only cost its fee payer more. */
export const transferComputeUnits = 20_000
export const transferMicroLamportsPerUnit = 1
export const transferMemoBytes = 16
/** A blockhash is valid for 150 blocks of 0.4 s; a slow chain makes them longer, but hardly beyond a second. */
export const blockhashLifeMs = 150_000

/** Characters of a genesis hash in CAIP-2. */
export const genesisCharacters = 32
/** A page of an address's transactions fits into an answer; a wallet pays far less often than these pages cover. */
export const listedTransactions = 50
export const transactionPages = 40
/** Nodes that drop old data keep at least two days; what such a node does not list may be older than its list. */
export const nodeHistoryMs = dayMs
/** A block's time and the journal's differ by less than this. */
export const chainClockMs = 600_000

/** How many options of a 402 are read; honest services offer two. */
export const maxOptions = 16
/** An option's `extra` is echoed in our header, which must fit into 8 KiB. */
export const maxExtraBytes = 2_048
/** EIP-712 names are short words. */
export const maxTokenNameLength = 64
export const maxOriginLength = 2_048
/** Longest purpose of a payment or call in a receipt or a request for approval. */
export const maxPurposeLength = 200
/** Longest untrusted reason that is stored with a payment. */
export const maxReasonLength = 120

/** The lease of a killed process is taken over after this time; a live one renews it every third of it. */
export const leaseMs = 30_000
/** How long one top-up waits for another: longer than a lease, so that a dead process never blocks. */
export const leaseWaitMs = 90_000
export const leasePollMs = 100

/** Attempts with the same bytes within one call; later calls and restarts send them again. */
export const sendAttempts = 3
export const sendPausesMs = [500, 2_000] as const
/**
 * Pauses while the service has the payment and is waiting for its chain: ten confirmations on Base take twenty seconds.
 * No further attempt begins after the second time, because assistants give up a call after 60 s.
 */
export const pendingPausesMs = [2_000, 3_000, 5_000, 5_000, 5_000, 5_000, 5_000] as const
export const pendingMs = 45_000
/** A sender that does not return within this time has an unknown outcome. */
export const sendTimeoutMs = 120_000
/** Open payments that one recovery handles; more than one is already unusual. */
export const maxRecovered = 50

/** How long a request for approval stays open; long enough to find the terminal. */
export const requestLifeMs = hourMs
/** How long an unused approval is valid; the same for a consent to its one request. */
export const approvalLifeMs = 30 * minuteMs
/**
 * The number of requests for approval that a user can read. Each group may have fewer, so that an assistant in a loop
 * leaves room for others.
 */
export const maxPendingApprovals = 50
export const maxPendingOfGroup = 10
/**
 * How many requests that ended undecided can still be shown by id. A loop creates more, and each is as long as its
 * text.
 */
export const keptUnanswered = 200
/** Most rows in one list. */
export const maxListed = 1_000
/** Longest name in the line that summarizes a request for approval. */
export const maxNameLength = 80
/**
 * How long a denial is valid: as long as an approval, so that the user is not asked again while the assistant keeps
 * trying.
 */
export const denialLifeMs = 30 * minuteMs
/**
 * How much of a prompt a request for approval stores and shows: whole sentences in the request, a few words in a list.
 */
export const maxPromptLength = 400
export const quotedCharacters = 200
export const quotedInShortCharacters = 48
/** Longest path to store. Systems allow longer ones, which no user reads. */
export const maxFileNameLength = 300
/** Files that one request for approval names: more than any call has today. */
export const maxFilesNamed = 12
/** The details of a request for approval are deleted a day after it ends, like the answers of paid calls. */
export const aboutKeptMs = dayMs

/** A policy is a page or two; it is stored whole or not at all. */
export const maxPolicyTextLength = 100_000

/** If the same call is refused again within an hour, the repeat adds no information. */
export const sameRefusalMs = hourMs
/**
 * Refusals to keep, some 4 MB. Their number is limited because a loop creates many, and their age because old ones are
 * of no use after a year.
 */
export const keptRefusals = 5_000
export const refusalsKeptMs = 365 * dayMs

/** The published contract's recommendation for a sign-in message: a nonce of 16 hex characters, five minutes. */
export const signInNonceBytes = 8
export const signInLifeMs = 300_000

/** Each guess costs a third of a second and 128 MiB; the parameters are those of RFC 7914. */
export const keyDerivation = { logN: 17, r: 8, p: 1 } as const
/** A key file with a higher cost is not ours and would only exhaust memory. */
export const maxKeyDerivationLogN = 20
export const maxKeyFileBytes = 4_096
export const minPassphraseLength = 8
export const maxPassphraseLength = 1_024
/** A larger settings file cannot have been written for farebox. */
export const maxSettingsFileBytes = 65_536
/** Size of a note about which journal belongs to a key: an address, an id and a path. */
export const maxNoteBytes = 16_384

/** One connection decides while others read. */
export const journalConnections = 3
/** Timeout of one attempt to connect to the journal. */
export const journalConnectMs = 5_000
/** A statement takes milliseconds; one that waits longer for another replica's decision is retried. */
export const journalStatementMs = 5_000
/** Longer than the database's own limit, so that this only catches a database that went silent. */
export const journalAnswerMs = 8_000
/** How long a replica that vanished in the middle of a decision delays the others. */
export const journalIdleMs = 5_000
export const journalKeepAliveMs = 10_000
/** A restart or failover of the database takes seconds; after this the caller is told that it is unreachable. */
export const journalAttemptsMs = 10_000
export const journalFirstPauseMs = 20
export const journalLongestPauseMs = 1_000
/** How long a COMMIT without an answer can be looked up, far longer than any retry. */
export const unitLifeMs = dayMs

/** Media sent with a consent that are remembered for other requests: years of a busy assistant. */
export const keptAttestedMedia = 10_000

/** A transfer out settles in seconds. A short life limits how long a transfer without an answer stays open. */
export const transferSeconds = 300
/** The owner submits a printed transfer by hand, from another wallet. */
export const printedTransferSeconds = 3_600
/** A facilitator waits for a block before it answers, on a slow chain a minute. */
export const facilitatorSettleMs = 90_000
export const facilitatorSupportedMs = 10_000
/** A settlement is a few hundred bytes; a list of what is supported has some dozen networks. */
export const facilitatorAnswerBytes = 262_144
/** How long the chain is asked for the transfer after the facilitator's answer: finality on Solana takes 13 s. */
export const transferFollowMs = 45_000
export const transferPollMs = 1_000
