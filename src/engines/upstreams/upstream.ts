import type { Clock } from '#contract/time.ts'
import type { UpstreamCounts } from './upstream-counts.ts'
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
