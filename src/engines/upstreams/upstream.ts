import { ServiceError } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import { isMaybeRequests } from '../http/upstream-error.ts'

/** Failures in a row after which an upstream is left out, or looked at where requests may have caused them. */
const failuresToLeaveOut = 3

/** A probe is asked for once in this time: each costs its operator some tokens, and callers can bring one about. */
export const probeEveryMs = 5_000

/** What a loaded engine needs for a probe's few tokens at most; one that says nothing until then is gone. */
export const probeMs = 20_000

/** What a probe may generate: the least that all engines take. */
export const probeTokens = 16

/** How long it is left out at first, and at most; each trial that fails doubles it. */
export const leaveOutMs = 5_000
const leaveOutMostMs = 60_000

/** One that says it is overloaded, and not for how long, is spared this long. */
const spareMs = 1_000

/** The longest that an upstream's own Retry-After keeps calls from it. */
const spareMostMs = 60_000

/** No other upstream is tried once a call is this old: its caller would not wait for a second long answer. */
export const failoverMs = 120_000

/** Calls at one upstream at once, where its operator says nothing; each has a connection of its own. */
export const usualConcurrency = 1_024

/** Calls that wait for a free upstream, where the operator says nothing. */
export const usualWaiting = 100

/** How long each of them waits at most. */
export const usualWaitMs = 30_000

/** Silence between two pieces of a stream, where the operator says nothing: longer than any engine here waits by itself. */
export const usualIdleMs = 120_000

/** What a caller is told to wait who found no place, until there are figures of how long calls take. */
export const usualCallMs = 1_000

/** The longest wait that such a caller is told. */
export const longestHintMs = 60_000

/** The newest call counts for so much of what a call takes on average. */
export const newestShare = 0.1

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
  /** Those of the pool that it was in before, where figures are to go on; started again where absent. */
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

export type HealthState = 'up' | 'down' | 'trial'

/**
 * Whether calls may go to an upstream. Refused connections leave it out, and probes of our own that fail; what a caller's
 * request may have caused only asks for such a probe. When its time is over, one call tries it again.
 */
export class UpstreamHealth {
  readonly #clock: Clock
  #failures = 0
  #leaveOutMs = 0
  #outUntilMs = 0
  #sparedUntilMs = 0
  #isTrying = false
  /** Who met the failures in a row. */
  #metBy = new Set<string | null>()
  #lastFailureMs = 0
  #isProbing = false
  #nextProbeMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get state(): HealthState {
    if (this.#leaveOutMs === 0) return 'up'
    return this.#clock.now() < this.#outUntilMs ? 'down' : 'trial'
  }

  /** Whether a call may go there: while one tries it, no other does. */
  get isOpen(): boolean {
    if (this.#clock.now() < this.#sparedUntilMs) return false
    return this.state === 'up' || (this.state === 'trial' && !this.#isTrying)
  }

  /** Whether it is better asked last by this caller: all failures in a row are its own, and the last is not long ago. */
  isPoorFor(caller: string | null): boolean {
    const isItsOwn = caller !== null && this.#metBy.size === 1 && this.#metBy.has(caller)
    return isItsOwn && this.#failures >= failuresToLeaveOut && this.#clock.now() < this.#lastFailureMs + leaveOutMs
  }

  /** Until a call may go there again; 0 where that depends on a trial in flight. */
  get waitMs(): number {
    return Math.max(0, Math.max(this.#outUntilMs, this.#sparedUntilMs) - this.#clock.now())
  }

  begin(): void {
    if (this.state === 'trial') this.#isTrying = true
  }

  /** True where it had been left out until now. */
  succeeded(): boolean {
    const wasOut = this.#leaveOutMs > 0
    this.#failures = 0
    this.#leaveOutMs = 0
    this.#isTrying = false
    this.#metBy.clear()
    return wasOut
  }

  /** What no request can cause. True where it is left out from now on, and was not before. */
  wasAway(): boolean {
    if (this.#leaveOutMs > 0) return this.#failedTrial()
    this.#met(null)
    return this.#failures >= failuresToLeaveOut && this.#leaveOut(leaveOutMs)
  }

  /** A failure that a caller's request may have caused. True where a probe has to tell. */
  suspected(caller: string | null): boolean {
    const isTrial = this.#leaveOutMs > 0
    // Calls that were on their way when it was left out say nothing new.
    if (isTrial && !this.#isTrying) return false
    if (!isTrial) this.#met(caller)
    return isTrial || this.#failures >= failuresToLeaveOut
  }

  /** Whether a probe may begin: none is in flight, and the last is long enough ago. A trial waits for none. */
  beginProbe(): boolean {
    const nowMs = this.#clock.now()
    if (this.#isProbing || (this.#leaveOutMs === 0 && nowMs < this.#nextProbeMs)) return false
    this.#isProbing = true
    this.#nextProbeMs = nowMs + probeEveryMs
    return true
  }

  endProbe(): void {
    this.#isProbing = false
  }

  /** A probe of ours has failed. True where it is left out from now on, and was not before. */
  failedProbe(): boolean {
    // A call that succeeded meanwhile knows better.
    if (this.#failures === 0 && this.#leaveOutMs === 0) return false
    return this.#leaveOutMs > 0 ? this.#failedTrial() : this.#leaveOut(leaveOutMs)
  }

  /** It answers, but wants no more calls for the moment. A refusal that names no time shortens none that was named. */
  busy(askedMs: number | null): void {
    this.#isTrying = false
    const nowMs = this.#clock.now()
    this.#sparedUntilMs =
      askedMs === null ? Math.max(this.#sparedUntilMs, nowMs + spareMs) : nowMs + Math.min(spareMostMs, askedMs)
  }

  /** A call ended without telling anything: its caller left, or its request was at fault. */
  untold(): void {
    if (!this.#isProbing) this.#isTrying = false
  }

  #met(caller: string | null): void {
    this.#failures++
    this.#lastFailureMs = this.#clock.now()
    this.#metBy.add(caller)
  }

  #failedTrial(): false {
    if (this.#isTrying) this.#leaveOut(Math.min(leaveOutMostMs, this.#leaveOutMs * 2))
    return false
  }

  #leaveOut(forMs: number): true {
    this.#leaveOutMs = forMs
    this.#outUntilMs = this.#clock.now() + forMs
    this.#isTrying = false
    return true
  }
}
