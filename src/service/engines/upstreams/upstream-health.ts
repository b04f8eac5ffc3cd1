import type { Clock } from '#contract/clock.ts'
import {
  callersToLeaveOut,
  failuresToLeaveOut,
  leaveOutMostMs,
  leaveOutMs,
  othersFirstMs,
  spareMostMs,
  spareMs,
} from './bounds.ts'

export type HealthState = 'up' | 'down' | 'trial'

/** Told by the calls themselves: after failures in a row an upstream is left out, then one call tries it again. */
export class UpstreamHealth {
  readonly #clock: Clock
  #failures = 0
  #leaveOutMs = 0
  #outUntilMs = 0
  #sparedUntilMs = 0
  #isTrying = false
  /** Who met the failures in a row; a number stands for one that was no caller's doing. */
  #metBy = new Set<string | number>()
  #lastCaller: string | null = null
  #othersFirstUntilMs = 0
  #lastFailureMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get state(): HealthState {
    if (this.#leaveOutMs === 0) return 'up'
    return this.#clock.now() < this.#outUntilMs ? 'down' : 'trial'
  }

  /** Whether a call may go there: while one tries it, nobody else does, and whoever failed there last lets others try. */
  isOpenTo(caller: string | null): boolean {
    const nowMs = this.#clock.now()
    if (nowMs < this.#sparedUntilMs) return false
    if (this.state !== 'trial') return this.state === 'up'
    const isLast = caller !== null && caller === this.#lastCaller && nowMs < this.#othersFirstUntilMs
    return !this.#isTrying && !isLast
  }

  /** Whether it is better asked last by this caller: all failures in a row are its own, and the last is not long ago. */
  isPoorFor(caller: string | null): boolean {
    const isItsOwn = caller !== null && this.#metBy.size === 1 && this.#metBy.has(caller)
    return isItsOwn && this.#failures >= failuresToLeaveOut && this.#clock.now() < this.#lastFailureMs + leaveOutMs
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
    this.#metBy.clear()
    this.#lastCaller = null
    return wasOut
  }

  /** `caller` is null for what no request can cause. True where it is left out from now on, and was not before. */
  failed(caller: string | null): boolean {
    if (this.#leaveOutMs > 0) return this.#failedAgain(caller)
    this.#failures++
    this.#lastFailureMs = this.#clock.now()
    this.#metBy.add(caller ?? this.#failures)
    this.#lastCaller = caller
    if (this.#failures < failuresToLeaveOut || this.#metBy.size < callersToLeaveOut) return false
    this.#leaveOut(leaveOutMs)
    return true
  }

  #failedAgain(caller: string | null): false {
    // Calls that were on their way when it was left out say nothing new.
    if (!this.#isTrying) return false
    // Nor does whoever failed before: its request may be at fault.
    if (caller !== null && caller === this.#lastCaller) this.excused(caller)
    else {
      this.#lastCaller = caller
      this.#leaveOut(Math.min(leaveOutMostMs, this.#leaveOutMs * 2))
    }
    return false
  }

  #leaveOut(forMs: number): void {
    this.#leaveOutMs = forMs
    this.#outUntilMs = this.#clock.now() + forMs
    this.#othersFirstUntilMs = this.#outUntilMs + othersFirstMs
    this.#isTrying = false
  }

  /** A call failed that does so elsewhere too. */
  excused(caller: string | null): void {
    this.#lastCaller = caller
    this.#othersFirstUntilMs = this.#clock.now() + othersFirstMs
    this.#isTrying = false
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
