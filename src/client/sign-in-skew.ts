import { leastSkewMs, longestSkewMs } from './limits.ts'
import { parseHttpDate } from './retry/http-date.ts'

/** How far the service's clock is ahead of ours, in milliseconds, as far as it is known: a sign-in is good for minutes. */
export class SignInSkew {
  #ms = 0

  get ms(): number {
    return this.#ms
  }

  /**
   * Whether a request whose sign-in was refused is worth one more, signed by the service's own clock, which is taken over.
   * No farther than a bound: nobody is to collect sign-ins for another day. `signedMs` is the skew that it was signed with,
   * which another request may have corrected meanwhile.
   */
  learnsFrom({ status, headers }: { status: number; headers: Headers }, signedMs: number, nowMs: number): boolean {
    const atMs = status === 401 ? parseHttpDate(headers.get('date') ?? '', nowMs) : null
    if (atMs === null) return false
    const skewMs = atMs - nowMs
    if (Math.abs(skewMs) > longestSkewMs || Math.abs(skewMs - signedMs) < leastSkewMs) return false
    this.#ms = skewMs
    return true
  }
}
