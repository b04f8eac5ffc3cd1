import { ServiceError } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import { isMaybeRequests } from '../http/upstream-error.ts'
import type { HealthState } from './upstream-health.ts'

/**
 * The longest that a loaded engine needs for a probe's few tokens; an engine that is silent for longer counts as down.
 */
export const probeMs = 20_000

/** Longer than a probe's, because a trial may make an image or speech. */
export const trialMs = 60_000

/** Tokens that a probe may generate: the minimum that all engines accept. */
export const probeTokens = 16

/** After this time no other upstream is tried, because the caller would not wait for a second long answer. */
export const failoverMs = 120_000

/** Default concurrency of an upstream; each call has its own connection. */
export const usualConcurrency = 1_024

/** Default number of calls that may wait for a free upstream. */
export const usualWaiting = 100

/** Longest wait of each of these calls. */
export const usualWaitMs = 30_000

/** Default for silence within a stream, longer than any known engine pauses. */
export const usualIdleMs = 120_000

/** Retry hint for a caller who got no slot, until there are statistics of how long calls take. */
export const usualCallMs = 1_000

/** The longest such hint. */
export const longestHintMs = 60_000

/** Weight of the latest call in the average duration. */
export const newestShare = 0.1

/** A server, or other means, that runs a model. */
export interface Upstream<Engine> {
  /** Unique within its model; used in metrics, logs and the rows of jobs. */
  name: string
  engine: Engine
  /** Its own name for the model. */
  engineModel: string
  /** Its share of the calls, relative to the others. */
  weight: number
  /** Maximum concurrent calls. */
  concurrency: number
  /** Until the first piece of a stream, if that has its own limit. */
  firstByteMs?: number
  /** Silence within a stream after which it counts as stopped; `usualIdleMs` by default. */
  idleMs?: number
  /** Counts from the previous pool, so that metrics continue; they start from zero if absent. */
  counts?: UpstreamCounts
}

/** Changes that are reported to the operator. */
export interface UpstreamNews {
  leftOut(upstream: string, reason: string): void
  back(upstream: string): void
}

export interface PoolOptions<Engine> {
  upstreams: readonly Upstream<Engine>[]
  /** How many calls may wait for a free slot, and how long. */
  queue: { length: number; waitMs: number }
  clock: Clock
  news?: UpstreamNews
  /**
   * A small fixed call of our own that tests whether an upstream works. Absent for models of which every call is
   * expensive: then only refused connections leave an upstream out.
   */
  probe?: Probe<Engine>
  /** What an operator's trial sends, for models whose calls are too expensive to probe by themselves. */
  trial?: Trial<Engine>
}

/** Media that a trial made, for the operator to judge. */
export interface TriedMedia {
  type: string
  bytes: Uint8Array
}

export type Trial<Engine> = (engine: Engine, call: { engineModel: string; signal: AbortSignal }) => Promise<TriedMedia>

export type Probe<Engine> = (engine: Engine, call: { engineModel: string; signal: AbortSignal }) => Promise<unknown>

/** The state of one upstream, for metrics. */
export interface UpstreamState {
  name: string
  weight: number
  /** Maximum concurrent calls. */
  concurrency: number
  state: HealthState
  running: number
  calls: number
  /** By kind of error. */
  failures: Readonly<Record<string, number>>
}

/** The outcome of a trial that an operator requested; `word` names the kind of error. */
export interface Tried {
  outcome: 'works' | 'refused' | 'busy' | 'silent' | 'failed'
  word: string | null
  made?: TriedMedia
}

/**
 * Counts of one upstream's calls since the service started. They survive a reload, because falling counters look like a
 * restart.
 */
export class UpstreamCounts {
  calls = 0
  /** By kind of error; a bounded set of words. */
  readonly failures: Record<string, number> = {}

  failed(word: string): void {
    this.failures[word] = (this.failures[word] ?? 0) + 1
  }
}

/**
 * What an error says about its upstream. `away` counts against its health, because no request can cause it. `failed`
 * may be the request's own fault. `busy` only spares the upstream for a while. `answered` is about the request, and
 * would be the same elsewhere.
 */
type UpstreamVerdict = 'away' | 'failed' | 'busy' | 'answered'

const busyKinds: ReadonlySet<string> = new Set(['MODEL_OVERLOADED', 'MODEL_AT_CAPACITY'])

export function verdictOf(error: unknown): UpstreamVerdict {
  if (!(error instanceof ServiceError)) return 'failed'
  if (busyKinds.has(error.kind)) return 'busy'
  // A timeout does not count: a request may ask for so much that it takes too long.
  if (error.kind === 'MODEL_OFFLINE') return isMaybeRequests(error) ? 'failed' : 'away'
  return error.status >= 500 ? 'failed' : 'answered'
}

/** Whether the upstream cannot have started work: nothing was sent, or it was refused entirely. */
export const isNotBegun = (error: unknown): boolean =>
  error instanceof ServiceError && (busyKinds.has(error.kind) || error.kind === 'MODEL_OFFLINE')

/** Returns a word for metrics and logs that contains nothing of a request. */
export const failureWord = (error: unknown): string => (error instanceof ServiceError ? error.kind : 'UNKNOWN_ERROR')

/** Returns how long an upstream asked to be spared; null if it did not say. */
export function askedWaitMs(error: unknown): number | null {
  const seconds = error instanceof ServiceError ? Number(error.headers['retry-after']) : Number.NaN
  return Number.isFinite(seconds) ? seconds * 1000 : null
}
