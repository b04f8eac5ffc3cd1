import { ServiceError } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import { isMaybeRequests } from '../http/upstream-error.ts'
import type { HealthState } from './upstream-health.ts'

/** One server, or other means, that a model runs on. */
export interface Upstream<Engine> {
  /** Unique within its model; in figures, logs and the rows of jobs. */
  name: string
  engine: Engine
  /** Its own name of the model. */
  engineModel: string
  /** Its share of the calls, against those of the others. */
  weight: number
  /** Calls at once. */
  concurrency: number
  /** Until the first piece of a stream, where that has a bound of its own. */
  firstByteMs?: number
  /** Silence between two pieces of a stream, after which it has stopped; `usualIdleMs` where absent. */
  idleMs?: number
  /** Those of the pool that it was in before, where figures are to go on; begun anew where absent. */
  counts?: UpstreamCounts
}

/** What an operator is told when it changes. */
export interface UpstreamNews {
  leftOut(upstream: string, reason: string): void
  back(upstream: string): void
}

export interface PoolOptions<Engine> {
  upstreams: readonly Upstream<Engine>[]
  /** Calls that wait for a free place, and how long. */
  queue: { length: number; waitMs: number }
  clock: Clock
  news?: UpstreamNews
  /**
   * A small fixed call of our own that tells whether an upstream works. Where absent, as for models whose every call is
   * dear, refused connections alone leave one out.
   */
  probe?: Probe<Engine>
}

export type Probe<Engine> = (engine: Engine, call: { engineModel: string; signal: AbortSignal }) => Promise<unknown>

/** How one upstream stands, for figures. */
export interface UpstreamState {
  name: string
  state: HealthState
  running: number
  calls: number
  /** By the kind of the error. */
  failures: Readonly<Record<string, number>>
}

/** Calls of one upstream since the service began. They outlive a reload, because figures that fall look like a restart. */
export class UpstreamCounts {
  calls = 0
  /** By the kind of the error; a bounded set of words. */
  readonly failures: Record<string, number> = {}

  failed(word: string): void {
    this.failures[word] = (this.failures[word] ?? 0) + 1
  }
}

/**
 * What an error tells of the upstream that it came from: `away` counts against its health, because no request can cause
 * it there; `failed` may be the request's own doing; `busy` only spares it for a while; `answered` is about the request,
 * and would be the same elsewhere.
 */
type UpstreamVerdict = 'away' | 'failed' | 'busy' | 'answered'

const busyKinds: ReadonlySet<string> = new Set(['MODEL_OVERLOADED', 'MODEL_AT_CAPACITY'])

export function verdictOf(error: unknown): UpstreamVerdict {
  if (!(error instanceof ServiceError)) return 'failed'
  if (busyKinds.has(error.kind)) return 'busy'
  // A time-out is no such thing: a request may ask for so much that it takes too long.
  if (error.kind === 'MODEL_OFFLINE') return isMaybeRequests(error) ? 'failed' : 'away'
  return error.status >= 500 ? 'failed' : 'answered'
}

/** Whether no work can have begun there: nothing was sent, or it was refused as a whole. */
export const isNotBegun = (error: unknown): boolean =>
  error instanceof ServiceError && (busyKinds.has(error.kind) || error.kind === 'MODEL_OFFLINE')

/** A word for figures and logs, that holds nothing of a request. */
export const failureWord = (error: unknown): string => (error instanceof ServiceError ? error.kind : 'UNKNOWN_ERROR')

/** How long an upstream asked to be spared; null where it did not say. */
export function askedWaitMs(error: unknown): number | null {
  const seconds = error instanceof ServiceError ? Number(error.headers['retry-after']) : Number.NaN
  return Number.isFinite(seconds) ? seconds * 1000 : null
}
