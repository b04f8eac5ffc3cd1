import { abuseBlock } from '#contract/limits.ts'
import { hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of payments, with its unit. */

/** How far a payer's clock may be from ours, in either direction. */
export const clockSkewSeconds = 60

/** How long an authorization must still be valid: time to send it and have it included in a block. */
export const minimumSecondsLeft = 10

/** Longest signature of a contract wallet: several times that of several owners or a passkey. */
export const signatureBytes = 2_048

/**
 * How long a request waits for its payment before it answers that it is pending; the work continues without it. Ten
 * confirmations on Base take twenty seconds, and stock clients pay again after such an answer.
 */
export const answerWaitMs = 30_000

/** How long an operator waits for a look at a payment. */
export const lookWaitMs = 10_000

/** Time between two reads of a row that another process is working on. */
export const rowPollMs = 100

/** The driver of a payment must take its next step within this time; longer than all steps of one attempt together. */
export const leaseMs = 30_000

/** How long a stopping service waits for payments in flight and for its facilitator: longer than one attempt takes. */
export const closeMs = 30_000

/** Payments that one process drives at once: each waits for the chain, so more of them would only wait longer. */
export const paymentsInFlight = 500

/**
 * Payments from one address that are checked at once and count towards no limit yet, because only the check shows whose
 * limit it is. Each asks the node up to a hundred times. As many may fail one after another before the abuse block.
 */
export const uncountedOfAddress = abuseBlock.failures

/** How many payments operators may look at again at once; each look asks a node several times. */
export const looksAtOnce = 4

/** Timeout of one request to a node. */
export const rpcTimeoutMs = 5_000

/** Retries of a request to a node after a broken connection; few, so that a node that is down is noticed soon. */
export const rpcRetries = 1

/**
 * How long to wait for the receipt of a sent transaction: five blocks on Base. A payment that takes longer is finished
 * later.
 */
export const receiptTimeoutMs = 10_000

/** Time between two checks for that receipt. */
export const receiptPollMs = 100

/**
 * Every how many of these checks to see whether another process of the same key has replaced the transaction: each
 * second.
 */
export const replacementLooks = 10

/**
 * How often the chain is checked for a transfer that was just sent or settled; a node may be a block behind another.
 */
export const landingLooks = 10
export const landingLookMs = 100

/** Time between two such checks if the transfer is there but its block may still be dropped: half a block on Base. */
export const confirmationLookMs = 1_000

/** How often the first driver of a payment checks for its confirmations, and how long after the first check the last. */
export const confirmationLooks = 26
export const confirmationLooksMs = 30_000

/** The highest number of confirmations that can be required: half an hour on Base, and no payer would wait longer. */
export const mostConfirmations = 1_000

/** How many of these checks may fail because the chain does not answer; each may take the time of two requests. */
export const failedLooks = 2

/** How often to look for payments that no process drives any more, and how many of them to take per round. */
export const completionIntervalMs = 5_000
export const completionRows = 100

/** Payments of a dead process to free in one commit at startup. */
export const freedRows = 500

/** Time after `validBefore` until a payment counts as expired; the chain's own clock must have passed it too. */
export const expiryMarginSeconds = 60

/** Blocks per request for the event of a used authorization: most nodes refuse more than about 10,000. */
export const logWindowBlocks = 5_000n

/** A node that refuses such a window is asked for a tenth of it, down to this: free plans allow five or ten blocks. */
export const leastLogWindowBlocks = 5n

/** Requests per search: 500,000 blocks, eleven days of Base. */
export const logWindows = 100

/** The same in small windows, from the head and again from the end of the payment: 300 blocks, ten minutes of Base. */
export const smallLogWindows = 60

/** Seconds after which checking a pending payment again makes sense. */
export const retryAfterSeconds = 2

/** How many characters of a wrong text a refusal quotes. */
export const quotedCharacters = 120

/**
 * Attempts to get a transaction number that no other process has taken, and the pause after the first, which grows each
 * time: three processes that send at the same time finish within a second.
 */
export const sendsInTurn = 10
export const sendInTurnMs = 20

/**
 * How often to check whether payments can be settled: an empty gas account should be noticed before a payer meets it.
 */
export const watchIntervalMs = 60_000

/** How long a service's recorded payee is remembered: two checks, and a failed one. */
export const payeeNoteMs = 3 * watchIntervalMs

/** How many payments the key's gas should still cover; below this, the operator is warned. */
export const settlementsInReserve = 10n

/** Gas of one transfer by authorization: USDC takes 85,000 for a new payee, and its code may change. */
export const settlementGas = 200_000n

/** Gas in addition to a node's estimate: filling a balance that was emptied since then takes 17,100 more. */
export const emptiedBalanceGas = 20_000n

/** Gas if a contract wallet checks the signature, possibly of a passkey: 350,000 and more. */
export const walletSettlementGas = 1_000_000n

/**
 * Maximum cost of settling per hour, in wei: 0.05 ETH is almost 600 transfers of 85,000 gas at 1 gwei, a hundred times
 * the usual price on Base, and an amount that an operator can afford to lose if an attacker makes every transfer fail.
 */
export const feesPerHourWei = 50_000_000_000_000_000n

/** That hour is a sliding window with steps of a minute. */
export const feeWindowMs = hourMs
export const feeStepMs = 60_000

/** Seconds after which to retry a payment that hit the cap: one step of the window. */
export const pausedRetrySeconds = 60

/** Largest Solana transaction, a limit of the network. */
export const transactionBytes = 1_232

/**
 * The most that a payer may make us pay for: a transfer takes 6,200 units, and clients request 20,000 at a price of 1.
 */
export const mostComputeUnits = 200_000
export const mostMicroLamportsPerUnit = 50_000n

/**
 * Timeouts of a remote facilitator: for connecting, and for each answer. Settling waits for a block or two, and less
 * than a lease.
 */
export const facilitatorConnectMs = 5_000
export const facilitatorVerifyMs = 10_000
export const facilitatorSettleMs = 15_000
export const facilitatorSupportedMs = 5_000

/** Largest answer of a facilitator; its list of supported networks may have dozens. */
export const facilitatorAnswerBytes = 65_536
export const facilitatorAnswerDepth = 16

/** Connections to a facilitator; further concurrent payments wait for one. */
export const facilitatorConnections = 50

/** For how many blocks a Solana blockhash is valid, a rule of the network. */
export const blockhashBlocks = 150

/** Extra blocks before a payment counts as expired: its blockhash may be newer than the node that was asked. */
export const expiryMarginBlocks = 150

/** Slots that every Solana node keeps: most of a day. For an older payment, the node is asked for its oldest block. */
export const keptSlots = 216_000

/** Time between two checks for a sent Solana transaction: a block or two. */
export const solanaPollMs = 400

/** How often a node is asked, a block apart, before a blockhash that it does not know is taken for an old one. */
export const blockhashTries = 3

/** Time between two sends of the same Solana transaction while no block contains it: nodes drop some of them. */
export const resendMs = 2_000

/** The fee per signature that our key pays, in lamports, a rule of the network. */
export const lamportsPerSignature = 5_000n

/** The minimum balance of a Solana account, in lamports; the fee payer's balance is kept above it. */
export const rentLamports = 890_880n

/** Maximum cost of settling on Solana per hour: 0.05 SOL is 2,500 transfers at the highest accepted fees. */
export const feesPerHourLamports = 50_000_000n

/**
 * If another account pays the fee, the payment is searched for among its payer's transactions since the claim. They are
 * listed in pages of the size that nodes allow, up to 20,000 per payer.
 */
export const listedTransactions = 1_000
export const searchedPages = 20

/** How many of these one search reads, and how many at once; the next search continues with the others. */
export const searchedTransactions = 200
export const searchedAtOnce = 10

/** Time limit of one search: with settling before it and a few other requests, it stays below a lease. */
export const searchMs = 5_000

/** How many searches are remembered with their transactions: at most some 2 MB each, usually a few KB. */
export const rememberedSearches = 20

/** Slots to count per block: leaders leave one in twenty empty, and one in two means a chain in trouble. */
export const mostSlotsOfBlock = 2

/** Extra slots to search: an hour in which the chain stood still. */
export const searchSlotMargin = 9_000

/** How long after the first check for a sent transfer the last check may start. */
export const landingLooksMs = 10_000

/** How far our clock may be ahead of a chain's when the ledger is created: transfers within this margin still count. */
export const birthMarginMs = 10 * minuteMs

/** Compute units of a drafted Solana transfer, and their price: the values that the stock clients use. */
export const draftUnits = 20_000
export const draftMicroLamportsPerUnit = 1n

/** Random bytes in its memo, so that two transfers of one amount are two payments. */
export const draftMemoBytes = 16

/**
 * How long drafts share a blockhash. A blockhash lives for half a minute or more, so this is short compared with the
 * time that a wallet's user needs.
 */
export const sharedBlockhashMs = 2_000
