import type { Clock } from '#contract/clock.ts'
import { failuresToLeaveOut, leaveOutMostMs, leaveOutMs, spareMostMs, spareMs } from './bounds.ts'

export type HealthState = 'up' | 'down' | 'trial'

/** Told by the calls themselves: after failures in a row an upstream is left out, then one call tries it again. */
export class UpstreamHealth {
  readonly #clock: Clock
  #failures = 0
  #leaveOutMs = 0
  #outUntilMs = 0
  #sparedUntilMs = 0
  #isTrying = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get state(): HealthState {
    if (this.#leaveOutMs === 0) return 'up'
    return this.#clock.now() < this.#outUntilMs ? 'down' : 'trial'
  }

  /** Whether a call may go there: while one tries it, nobody else does. */
  get isOpen(): boolean {
    if (this.#clock.now() < this.#sparedUntilMs) return false
    return this.state === 'up' || (this.state === 'trial' && !this.#isTrying)
  }

  /** Until a call may go there again; 0 where that depends on a trial under way. */
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
    return wasOut
  }

  /** True where it is left out from now on, and was not before. */
  failed(): boolean {
    this.#failures++
    const wasOut = this.#leaveOutMs > 0
    if (!wasOut && this.#failures < failuresToLeaveOut) return false
    // Calls that were on their way when it was left out say nothing new.
    if (wasOut && !this.#isTrying) return false
    this.#leaveOutMs = wasOut ? Math.min(leaveOutMostMs, this.#leaveOutMs * 2) : leaveOutMs
    this.#outUntilMs = this.#clock.now() + this.#leaveOutMs
    this.#isTrying = false
    return !wasOut
  }

  /** It answers, but wants no more calls for the moment. */
  busy(askedMs: number | null): void {
    this.#isTrying = false
    this.#sparedUntilMs = this.#clock.now() + Math.min(spareMostMs, askedMs ?? spareMs)
  }

  /** A call ended without telling anything: its caller left, or its request was at fault. */
  untold(): void {
    this.#isTrying = false
  }
}
