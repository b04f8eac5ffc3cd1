import { hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of payments, with its unit. */

/** How far a payer's clock may be from ours, either way. */
export const clockSkewSeconds = 60

/** What an authorisation must still have: time to send it and to be part of a block. */
export const minimumSecondsLeft = 10

/** Of a contract wallet's signature: several owners' signatures, or a passkey's, fit in it several times. */
export const signatureBytes = 2_048

/** How long a request waits for its payment before it answers that it is pending; the work goes on without it. */
export const answerWaitMs = 10_000

/** Between two looks at a row that another process works on. */
export const rowPollMs = 100

/** Who drives a payment must take its next step within this; above what all steps of one attempt may take together. */
export const leaseMs = 30_000

/** How long a stopping service waits for payments in flight, longer than one attempt takes, and for its facilitator to close. */
export const closeMs = 30_000

/** Payments that one process works on at once: each waits for the chain, so more would only wait longer. */
export const paymentsInFlight = 500

/** One question to a node. */
export const rpcTimeoutMs = 5_000

/** Of such a question, for a connection that broke; a node that is down should be known as down soon. */
export const rpcRetries = 1

/** For the receipt of what was sent: five blocks of Base. A payment that needs longer is finished later. */
export const receiptTimeoutMs = 10_000

/** Between two looks for that receipt. */
export const receiptPollMs = 100

/** Looks at the chain for a transfer that was just sent or settled; a node may be a block behind its sibling. */
export const landingLooks = 10
export const landingLookMs = 100

/** Between two of these looks where the transfer is there and its block may still be dropped: half a block of Base. */
export const confirmationLookMs = 1_000

/** The deepest that a payment may be asked to lie: half an hour of Base, which no payer would wait longer than. */
export const mostConfirmations = 1_000

/** Of these looks, how many may meet a chain that does not answer: each may take two questions' time. */
export const failedLooks = 2

/** How often payments that no process drives any more are looked for, and how many of them one round takes. */
export const completionIntervalMs = 5_000
export const completionRows = 100

/** Payments of a dead process that are freed in one commit at a start. */
export const freedRows = 500

/** After `validBefore`, before a payment counts as expired; the chain's own clock must have passed it as well. */
export const expiryMarginSeconds = 60

/** Blocks of one search for a used authorisation: nodes refuse more than about 10,000. */
export const logWindowBlocks = 5_000n

/** Windows of one search: 500,000 blocks, eleven days of Base. */
export const logWindows = 100

/** Seconds after which a pending payment is worth another question. */
export const retryAfterSeconds = 2

/** Of a refusal that repeats what was wrong with a text. */
export const quotedCharacters = 120

/**
 * Tries to get a number of the key that no other process has taken meanwhile, and the pause after the first, which grows
 * with each: three processes that send at once are done in a second.
 */
export const sendsInTurn = 10
export const sendInTurnMs = 20

/** How often it is looked whether payments could be settled: a wallet without gas should be known before a payer finds it. */
export const watchIntervalMs = 60_000

/** How long a service is remembered by the payee that it noted: two looks, and one that failed. */
export const payeeNoteMs = 3 * watchIntervalMs

/** Payments that the key's gas should still reach for; below, the operator is told. */
export const settlementsInReserve = 10n

/** Gas of one transfer by authorisation: USDC takes 85,000 where the payee is new to it, and its code may change. */
export const settlementGas = 200_000n

/** The same where a contract wallet checks the signature, which may be a passkey's: 350,000 gas and more. */
export const walletSettlementGas = 1_000_000n

/**
 * What settling may cost in an hour, in wei: 0.05 ETH is 450 transfers at 1 gwei, a hundred times the usual price of
 * Base, and an amount that an operator survives when an attacker finds a way to make every one of them fail.
 */
export const feesPerHourWei = 50_000_000_000_000_000n

/** The hour of that cap rolls on in steps of a minute. */
export const feeWindowMs = hourMs
export const feeStepMs = 60_000

/** Seconds after which a payment is worth another try that met the cap: one step of the hour. */
export const pausedRetrySeconds = 60

/** Of a Solana transaction, as the network itself has it. */
export const transactionBytes = 1_232

/** What a payer may let us pay for: a transfer takes 6,200 units, and clients ask for 20,000 at a price of 1. */
export const mostComputeUnits = 200_000
export const mostMicroLamportsPerUnit = 50_000n

/** A remote facilitator: to connect, and for each of its answers. Settling waits for a block or two, and less than a lease. */
export const facilitatorConnectMs = 5_000
export const facilitatorVerifyMs = 10_000
export const facilitatorSettleMs = 15_000
export const facilitatorSupportedMs = 5_000

/** Of its answers; a list of what it supports may hold dozens of networks. */
export const facilitatorAnswerBytes = 65_536
export const facilitatorAnswerDepth = 16

/** Connections to it: more payments than these at once wait for one. */
export const facilitatorConnections = 50

/** Blocks that a Solana blockhash lives, as the network itself has it. */
export const blockhashBlocks = 150

/** As many again before a payment counts as over: its blockhash may be newer than the node that was asked. */
export const expiryMarginBlocks = 150

/** Between two looks for a Solana transaction that was sent: a block. */
export const solanaPollMs = 400

/** Between two sends of the same Solana transaction while no block holds it: nodes drop some of them. */
export const resendMs = 2_000

/** A signature that our key pays for, in lamports, as the network itself has it. */
export const lamportsPerSignature = 5_000n

/** What an account on Solana must keep, in lamports: its fee payer is not let below it. */
export const rentLamports = 890_880n

/** What settling on Solana may cost in an hour: 0.05 SOL is 2,500 transfers at the highest fees that are taken. */
export const feesPerHourLamports = 50_000_000n

/**
 * A payer's transactions since the claim are looked through for a payment whose fee another account pays. They are listed
 * by as many as nodes list at once, and so many times: 20,000 of one payer.
 */
export const listedTransactions = 1_000
export const searchedPages = 20

/** Of these, how many are read in one search, and how many at once; the next search goes on with the others. */
export const searchedTransactions = 200
export const searchedAtOnce = 10

/** All questions of one search together: with settling before it and a few other questions it stays below a lease. */
export const searchMs = 5_000

/** Payments whose searched transactions are remembered, at most some 2 MB each and a few KB as a rule. */
export const rememberedSearches = 20

/** Slots that pass for a block: leaders leave one in twenty empty, and one in two would be a chain in trouble. */
export const mostSlotsOfBlock = 2

/** Slots that are searched beyond that: an hour in which the chain stood still. */
export const searchSlotMargin = 9_000

/** From the first look for a transfer that was sent, when no further one is begun. */
export const landingLooksMs = 10_000

/** By how much our clock may be ahead of a chain's when the ledger is created: a transfer of these last minutes still counts. */
export const birthMarginMs = 10 * minuteMs
