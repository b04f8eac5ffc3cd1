import { hourMs, minuteMs } from '#contract/time.ts'

/** How long a request for approval stays open in a client, in milliseconds: long enough to read a policy. */
export const approvalFormMs = 10 * minuteMs

/** A user takes longer than this to read a form, in milliseconds: a sooner refusal comes from the client itself. */
export const formReadMs = 1_000

/** How many forms without an answer are remembered, so that a client that shows none is not sent the same one again. */
export const rememberedForms = 100

/** How long a call waits while the user makes a wallet, in milliseconds. Clients wait a minute for a call. */
export const walletWaitMs = 40_000

/** How often a call that waits for the user reports progress, so that the client keeps waiting. */
export const waitReportMs = 5_000

/**
 * How long a signed state is valid, in seconds. It outlives the form that it belongs to, so that a late click still
 * counts.
 */
export const stateSeconds = 15 * 60

/** Largest message on stdio, in bytes; SDKs refuse more than this on either side. */
export const messageBytes = 10 * 1024 * 1024

/** If a message is too long to parse, its id is searched for in its first and last characters. */
export const idCharacters = 1_024

/** How long calls in flight, and then the host, may take to stop once the client has gone, in milliseconds. */
export const stopMs = 2000

/** How long a client may cache the listing, in milliseconds; it changes only with a release. */
export const listingMs = hourMs

/** Assistants truncate the server's instructions at this length. */
export const instructionCharacters = 2048

/** Longest reason and stack of an unforeseen error in the log. */
export const faultCharacters = 300
export const faultFrames = 4

/**
 * Streamable HTTP on loopback: a machine has few clients, and each tool call is one exchange. Each open subscription
 * costs a connection.
 */
export const httpLimits = { exchanges: 128, subscriptions: 32 } as const

/**
 * How long calls in flight may continue after a stop was requested, in milliseconds; their results are kept for a
 * repeat.
 */
export const httpDrainMs = 5_000

/**
 * HTTP sessions of clients with protocols before 2026-07. Each holds one server and perhaps a stream. A machine has few
 * assistants, and one that returns after hours starts a new session automatically.
 */
export const sessionLimits = { open: 64, idleMs: 4 * hourMs } as const

/** How long completion values are looked up, how long they are kept, in milliseconds, and how many are sent. */
export const choicesMs = 2_000
export const choicesKeptMs = 30_000
/** The protocol's own limit. */
export const choicesShown = 100
