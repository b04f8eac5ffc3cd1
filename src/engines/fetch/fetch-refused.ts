import { unreachable } from '#host/unreachable.ts'

/**
 * Why nothing was fetched: `address` where the caller's own words are wrong, whatever its server would say. The message
 * follows the name of a field, and holds nothing of what a server said.
 */
export class FetchRefused extends Error {
  readonly reason: 'address' | 'unreachable' | 'too_large' | 'too_late'

  constructor(reason: FetchRefused['reason'], problem: string) {
    super(problem)
    this.name = 'FetchRefused'
    this.reason = reason
  }

  /** For whatever a connection throws. */
  static of(error: unknown, isLate: boolean): FetchRefused {
    if (error instanceof FetchRefused) return error
    if (isLate) return new FetchRefused('too_late', 'it took too long to come')
    const inner = error instanceof Error && error.cause instanceof FetchRefused ? error.cause : null
    if (inner) return inner
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (/TIMEOUT|TIMEDOUT/.test(code)) return new FetchRefused('too_late', 'it took too long to come')
    return new FetchRefused(
      'unreachable',
      unreachable.has(code) ? 'there is no server at its address' : 'its server broke off the connection',
    )
  }
}
