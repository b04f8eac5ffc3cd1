import { type Clock, isAhead } from '#contract/time.ts'

/** Consecutive failures after which an upstream is left out, or probed if requests may have caused them. */
const failuresToLeaveOut = 3

/** At most one probe per upstream in this time: each costs its operator some tokens, and callers can trigger one. */
export const probeEveryMs = 5_000

/** How long an upstream is left out at first, and at most; each failed trial doubles it. */
export const leaveOutMs = 5_000
const leaveOutMostMs = 60_000

/** How long an upstream is spared if it reports overload without a time. */
const spareMs = 1_000

/** The longest time for which an upstream's own Retry-After keeps calls from it. */
const spareMostMs = 60_000

export type HealthState = 'up' | 'down' | 'trial'

/**
 * Decides whether calls may go to an upstream. Refused connections and failed probes leave it out; a failure that a
 * caller's request may have caused only triggers a probe. When the time is over, one call tries it again.
 */
export class UpstreamHealth {
  readonly #clock: Clock
  #failures = 0
  #leaveOutMs = 0
  #outUntilMs = 0
  #sparedUntilMs = 0
  #isTrying = false
  /** The callers that met the consecutive failures. */
  #metBy = new Set<string | null>()
  #lastFailureMs = 0
  #isProbing = false
  #nextProbeMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get state(): HealthState {
    if (this.#leaveOutMs === 0) return 'up'
    return this.#leftMs(this.#outUntilMs, leaveOutMostMs) > 0 ? 'down' : 'trial'
  }

  /** Whether a call may go there: while one call tries the upstream, no other does. */
  get isOpen(): boolean {
    if (this.#leftMs(this.#sparedUntilMs, spareMostMs) > 0) return false
    return this.state === 'up' || (this.state === 'trial' && !this.#isTrying)
  }

  /**
   * Whether this caller should try the upstream last: all consecutive failures are the caller's own, and the last is
   * recent.
   */
  isPoorFor(caller: string | null): boolean {
    const isItsOwn = caller !== null && this.#metBy.size === 1 && this.#metBy.has(caller)
    return (
      isItsOwn && this.#failures >= failuresToLeaveOut && this.#leftMs(this.#lastFailureMs + leaveOutMs, leaveOutMs) > 0
    )
  }

  /** Time until a call may go there again; 0 if that depends on a trial in flight. */
  get waitMs(): number {
    return Math.max(this.#leftMs(this.#outUntilMs, leaveOutMostMs), this.#leftMs(this.#sparedUntilMs, spareMostMs))
  }

  /** Time until then; 0 if the clock was set back since. */
  #leftMs(untilMs: number, mostMs: number): number {
    const nowMs = this.#clock.now()
    return isAhead(untilMs, mostMs, nowMs) ? untilMs - nowMs : 0
  }

  begin(): void {
    if (this.state === 'trial') this.#isTrying = true
  }

  /** Returns true if it had been left out until now. */
  succeeded(): boolean {
    const wasOut = this.#leaveOutMs > 0
    this.#failures = 0
    this.#leaveOutMs = 0
    this.#isTrying = false
    this.#metBy.clear()
    return wasOut
  }

  /** Records a failure that no request can cause. Returns true if it is newly left out. */
  wasAway(): boolean {
    if (this.#leaveOutMs > 0) return this.#failedTrial()
    this.#met(null)
    return this.#failures >= failuresToLeaveOut && this.#leaveOut(leaveOutMs)
  }

  /** Records a failure that a caller's request may have caused. Returns true if a probe should decide. */
  suspected(caller: string | null): boolean {
    const isTrial = this.#leaveOutMs > 0
    // Calls that were in flight when it was left out say nothing new.
    if (isTrial && !this.#isTrying) return false
    if (!isTrial) this.#met(caller)
    return isTrial || this.#failures >= failuresToLeaveOut
  }

  /** Whether a probe may start: none is in flight, and the last was long enough ago. A trial does not wait for that. */
  beginProbe(): boolean {
    if (this.#isProbing || (this.#leaveOutMs === 0 && this.#leftMs(this.#nextProbeMs, probeEveryMs) > 0)) return false
    this.#isProbing = true
    this.#nextProbeMs = this.#clock.now() + probeEveryMs
    return true
  }

  endProbe(): void {
    this.#isProbing = false
  }

  /** Records a failed probe. Returns true if it is newly left out. */
  failedProbe(): boolean {
    // A call that succeeded in the meantime is better evidence.
    if (this.#failures === 0 && this.#leaveOutMs === 0) return false
    return this.#leaveOutMs > 0 ? this.#failedTrial() : this.#leaveOut(leaveOutMs)
  }

  /**
   * The upstream answers, but wants no more calls for now. A refusal without a time does not shorten an earlier one.
   */
  busy(askedMs: number | null): void {
    this.#isTrying = false
    const least = Math.max(this.#leftMs(this.#sparedUntilMs, spareMostMs), spareMs)
    this.#sparedUntilMs = this.#clock.now() + (askedMs === null ? least : Math.min(spareMostMs, askedMs))
  }

  /** A call ended without evidence: its caller left, or its request was at fault. */
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
