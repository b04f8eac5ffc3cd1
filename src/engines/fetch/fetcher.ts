import { unreachable } from '#host/network.ts'
import type { FetchedFile, FetchOrder, GuardedFetcher, GuardedFetcherOptions } from './guarded-fetcher.ts'

/** Of an address that a caller names; browsers and servers take no more. */
export const addressCharacters = 8_192

/** Hops to where a file really lies: a shortener and a mirror, and one more. */
export const redirectsAtMost = 3

/** Looking up a name and opening a connection, until its server says the first word. */
export const fetchAnswerMs = 10_000

/** Silence within a file, after which its server counts as gone. */
export const fetchSilenceMs = 10_000

/** Connections to one server on behalf of callers; beyond them fetches wait for a free one. */
export const connectionsPerAddress = 16

/** Ports of the web. Others are of services that expect no untrusted caller. */
export const webPorts: ReadonlySet<string> = new Set(['', '80', '443'])

/** What of the guarded fetcher a capability uses. */
export type Fetcher = Pick<GuardedFetcher, 'fetch'>

/** The guarded fetcher, loaded with the first address: what it is made of would slow every start. */
export class FirstUseFetcher implements Fetcher {
  readonly #options: GuardedFetcherOptions
  #guarded: Promise<GuardedFetcher> | null = null

  constructor(options: GuardedFetcherOptions = {}) {
    this.#options = options
  }

  /** Throws `FetchRefused`, or the signal's reason. */
  async fetch(order: FetchOrder): Promise<FetchedFile> {
    this.#guarded ??= import('./guarded-fetcher.ts').then(({ GuardedFetcher }) => new GuardedFetcher(this.#options))
    return (await this.#guarded).fetch(order)
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await (await this.#guarded)?.close()
  }
}

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
    if (isLate) return new FetchRefused('too_late', 'it took too long to arrive')
    const inner = error instanceof Error && error.cause instanceof FetchRefused ? error.cause : null
    if (inner) return inner
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (/TIMEOUT|TIMEDOUT/.test(code)) return new FetchRefused('too_late', 'it took too long to arrive')
    return new FetchRefused(
      'unreachable',
      unreachable.has(code) ? 'its server cannot be reached' : 'its server closed the connection',
    )
  }
}
