import type { Clock } from '#contract/time.ts'
import { failuresToLeaveOut, leaveOutMostMs, leaveOutMs, probeEveryMs, spareMostMs, spareMs } from './bounds.ts'

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
