import { hourMs, minuteMs } from '#contract/time.ts'

/** How long one question may stand open in a client, in milliseconds: long enough to read a policy. */
export const questionMs = 10 * minuteMs

/** How long a call waits for a user who makes a wallet, in milliseconds; clients wait a minute for a call. */
export const walletWaitMs = 40_000

/** How often it tells a client that it waits, which then waits longer itself. */
export const walletReportMs = 5_000

/** How long a signed state is good for, in seconds; it outlives its question, so that a late click still counts. */
export const stateSeconds = 15 * 60

/** Largest message on stdio, in bytes; SDKs refuse more than this on either side. */
export const messageBytes = 10 * 1024 * 1024

/** Where the id of a message is looked for that is too long to be read: its first and its last characters. */
export const idCharacters = 1_024

/** How long calls in flight, and then the host, may take to stop once the client has gone, in milliseconds. */
export const stopMs = 2000

/** How long a client may keep the listing, in milliseconds; it changes with a release only. */
export const listingMs = hourMs

/** Assistants cut the server's instructions here. */
export const instructionCharacters = 2048

/** Of an unforeseen error's reason, and of its places in the code, in the log. */
export const faultCharacters = 300
export const faultFrames = 4

/**
 * Streamable HTTP on loopback: clients of one machine are few, and each call of a tool is one exchange. Open subscriptions
 * cost a connection each.
 */
export const httpLimits = { exchanges: 128, subscriptions: 32 } as const

/** How long calls in flight may go on after a stop was asked for, in milliseconds; what they bought is kept for a repeat. */
export const httpDrainMs = 5_000

/**
 * Sessions of clients of protocols before 2026-07 over HTTP. Each holds one server and perhaps a stream; assistants of one
 * machine are few, and one that comes back after hours begins a new session without being told.
 */
export const sessionLimits = { open: 64, idleMs: 4 * hourMs } as const

/** Values for an argument that is being typed: looked up for so long, kept for so long, in milliseconds, and so many sent. */
export const choicesMs = 2_000
export const choicesKeptMs = 30_000
/** The protocol's own bound. */
export const choicesShown = 100
