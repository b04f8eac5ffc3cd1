import { minuteMs } from '#contract/time.ts'

export interface ConnectionLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  checkMs: number
  headerBytes: number
  idleMs: number
  connections: number
}

/** Slow senders must not keep sockets: headers within 15 s, a whole request (35 MB of video input) within 60 s. */
export const connectionLimits: ConnectionLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  /** How often both are looked at; Node's own 30 s would make fifteen seconds forty-five. */
  checkMs: 5_000,
  /** A sign-in and a payment header side by side fit twice. */
  headerBytes: 32 * 1024,
  /**
   * An idle connection stays open longer than common proxies and clients keep theirs (60 s): where this end closes first,
   * a request may be on its way already, and its sender cannot know whether it was begun.
   */
  idleMs: 65_000,
  connections: 10_000,
}

/**
 * Who takes no piece of an answer for so long has left, though the connection stands: work and credit wait for readers.
 * Proxies and people that pause a reader go on sooner.
 */
export const readerPatienceMs = 5 * minuteMs

/** A probe of liveness or readiness waits no longer for the database: probers give up after one to five seconds. */
export const probePatienceMs = 1_000

/** Probers come every second or so, several at once; each write costs a sync of the disk. */
export const probeWriteEveryMs = 1_000

/** With less free space a finished video may not fit, and the database's log cannot grow. */
export const leastFreeBytes = 16 * 1024 * 1024

/** When a caller who met unreachable books is told to come again: a restart of a database takes some seconds. */
export const awayRetryMs = 5_000

/** Of one download address: a player that seeks asks often, a loop asks without end. Addresses that are counted at once. */
export const downloadStarts = { perMinute: 60, addresses: 10_000 }

/** Files of which delivered parts are remembered, and parts that do not touch; a download in parallel has some ten. */
export const deliveredRanges = { files: 1_000, perFile: 64 }

/** When a caller of a service that is starting may retry: it starts within a second or two. */
export const startingRetrySeconds = 2

/** How long a stopping service waits for running answers. */
export const drainMs = 30_000

/** How often lapsed rows, old media and old nonces are swept. */
export const sweepIntervalMs = 60_000

/** Books that were unreachable are asked again after this, and so long after the last failure. */
export const awayAskMs = 1_000

/** How often the log repeats that they still are. */
export const awayTellMs = 60_000
