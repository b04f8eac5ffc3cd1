import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every bound of the wallet, with its unit and why that number. */

/** Several assistants share the file; a decision takes milliseconds, so after this long another process is stuck. */
export const busyTimeoutMs = 10_000
/** How often a new file is tried again while another process is turning it to WAL. */
export const openAttempts = 50
export const openPauseMs = 100

/** What the caps are where nobody set any (USD as text, so that no float is money). */
export const defaultCaps = {
  maxPaymentUsd: '5',
  maxDayUsd: '10',
  maxTotalUsd: '20',
  maxCallUsd: '10',
  askAboveUsd: '1',
}
/** The day of the day's cap is rolling, so that midnight doubles nothing. */
export const capWindowMs = dayMs
/** A cap above this is a typing error rather than a wish. */
export const highestCapMicroUsd = 1_000_000_000_000n

/** An authorisation is a bearer secret: a short one limits what a lost answer leaves open. */
export const maxAuthorizationSeconds = 600
/** A payment on the chain needs a few seconds; an offer below this could not be settled honestly. */
export const minAuthorizationSeconds = 5
/** After the authorisation has run out, time for clocks that differ and blocks that come late; then the user can tell. */
export const deadMarginMs = 120_000
/** Where only the service says so, nobody looks at the chain and the margin is larger. */
export const deadMarginWithoutChainMs = 600_000

/** Two top-ups after a 402 within this time mean that the first one did not help; a third would not either. */
export const cooldownMs = 60_000
/** A refill that the user was asked about, or that met a fault, is thought of again after this; calls are many. */
export const refillAgainMs = 60_000
/** Of a refill this part at least has to show in the next credit that is told, or refilling stops: calls spend meanwhile. */
export const refillShown = { numerator: 1n, denominator: 2n }
/** A 402 that was answered before a payment was credited arrives within this time after it: look again, pay nothing. */
export const lookAgainMs = 10_000

/** What a setting says instead of a node's address, so that none is asked. */
export const noNode = 'none'

/** A question to a node without whose answer nothing can be signed or ended. */
export const nodeTimeoutMs = 10_000
/** What an address holds and what time a chain has: a node that is silent refuses nothing, so it may not take long either. */
export const lookTimeoutMs = 3_000
/** Most answers are a few hundred bytes; a block of Base lists the hashes of its transactions, thousands at most. */
export const nodeAnswerBytes = 1_048_576
/** Our clock and the service's or the chain's: beyond this a payment would be good for too long, or count on another day. */
export const clockSkewMs = 10 * minuteMs
/** Of a transfer with a memo on Solana; one with a bound above what it takes would only cost its fee payer more. */
export const transferComputeUnits = 20_000
export const transferMicroLamportsPerUnit = 1
export const transferMemoBytes = 16
/** A blockhash serves for 150 blocks of 0.4 s; a chain that is slow makes them longer, hardly beyond a second. */
export const blockhashLifeMs = 150_000

/** Of a first block's hash, as CAIP-2 has it. */
export const genesisCharacters = 32
/** A page of an address's transactions is below the bound of an answer; a wallet pays far less often than so many pages. */
export const listedTransactions = 50
export const transactionPages = 40
/** Nodes that drop what is old keep two days at least; what such a node does not list may be older than its list. */
export const nodeHistoryMs = dayMs
/** A chain's time of a block and the journal's may differ by less. */
export const chainClockMs = 600_000

/** Options of one 402 that are read; honest services offer two. */
export const maxOptions = 16
/** `extra` of an option is echoed in our header, which has to fit into 8 KiB. */
export const maxExtraBytes = 2_048
/** EIP-712 names are short words. */
export const maxTokenNameLength = 64
export const maxOriginLength = 2_048
/** What a payment or a call is for, as a receipt or a question shows it. */
export const maxPurposeLength = 200
/** A reason from outside that is kept with a payment. */
export const maxReasonLength = 120

/** A lease of a process that was killed is taken over after this; a live one renews it in a third of the time. */
export const leaseMs = 30_000
/** How long one top-up waits for another one: longer than a lease, so that a dead one never blocks. */
export const leaseWaitMs = 90_000
export const leasePollMs = 100

/** The same bytes within one call; later calls and restarts send them again. */
export const sendAttempts = 3
export const sendPausesMs = [500, 2_000] as const
/** A sender that does not come back in this time has an unknown outcome. */
export const sendTimeoutMs = 120_000
/** Open payments that one recovery works through; more than one is already unusual. */
export const maxRecovered = 50

/** A question nobody has answered; long enough to find the terminal. */
export const questionLifeMs = hourMs
/** A yes that was not used yet; a consent serves its one request for as long. */
export const approvalLifeMs = 30 * minuteMs
/** What the user can read; and of one sort less, so that an assistant in a loop leaves room for others. */
export const maxPendingApprovals = 50
export const maxPendingOfSort = 10
/** Questions that nobody answered: so many can still be told of by their names; a loop makes more, each as long as its text. */
export const keptUnanswered = 200
/** Rows that are told at once. */
export const maxListed = 1_000
/** A name in a line that says what is asked. */
export const maxNameLength = 80
/** A no counts as long as a yes, so that nobody is asked again while the assistant still tries. */
export const denialLifeMs = 30 * minuteMs
/** What a question keeps of a prompt, and shows of it: whole sentences in the question, a few words in a list. */
export const maxPromptLength = 400
export const quotedCharacters = 200
export const quotedInShortCharacters = 48
/** Of a path; systems allow more, and nobody reads it. */
export const maxFileNameLength = 300
/** Files of one question that are named: more than any call of today takes. */
export const maxFilesNamed = 12
/** What a question was about is forgotten a day after its end, as the answers of paid calls are. */
export const aboutKeptMs = dayMs

/** A policy's text is a page or two; it is kept whole or not at all. */
export const maxPolicyTextLength = 100_000

/** A caller that is refused and tries again says nothing new within an hour. */
export const sameRefusalMs = hourMs
/** Refusals that are kept, some 4 MB: by number because a loop makes many, by age because nobody asks after a year. */
export const keptRefusals = 5_000
export const refusalsKeptMs = 365 * dayMs

/** The published contract's advice for a signed-in message: nonce of 16 hex characters, five minutes. */
export const signInNonceBytes = 8
export const signInLifeMs = 300_000

/** Guessing costs a third of a second and 128 MiB each; see RFC 7914 for the letters. */
export const keyDerivation = { logN: 17, r: 8, p: 1 } as const
/** A key file that asks for more than this is not one of ours and would only eat memory. */
export const maxKeyDerivationLogN = 20
export const maxKeyFileBytes = 4_096
export const minPassphraseLength = 8
export const maxPassphraseLength = 1_024
/** A settings file with more in it is not one of ours. */
export const maxSettingsFileBytes = 65_536
/** Which journal counts for a key: an address, an id and a path. */
export const maxNoteBytes = 16_384

/** One decides while others read. */
export const journalConnections = 3
/** What one attempt to connect to the journal may take. */
export const journalConnectMs = 5_000
/** A statement takes milliseconds; one that waits longer for another replica's decision is tried again. */
export const journalStatementMs = 5_000
/** Longer than the database's own limit, so that only a database that went silent is cut off here. */
export const journalAnswerMs = 8_000
/** A replica that vanished in the middle of a decision holds up the others for as long. */
export const journalIdleMs = 5_000
export const journalKeepAliveMs = 10_000
/** A restart or a fail-over of the database takes seconds; after this a caller hears that it is away. */
export const journalAttemptsMs = 10_000
export const journalFirstPauseMs = 20
export const journalLongestPauseMs = 1_000
/** For as long a COMMIT without an answer can still be looked up, far longer than anyone tries. */
export const unitLifeMs = dayMs

/** Media that were sent with a consent and are asked about again in other requests: years of a busy assistant. */
export const keptAttestedMedia = 10_000
