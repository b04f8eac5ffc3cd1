import { unreachable } from '#host/network.ts'
import type { FetchedFile, FetchOrder, GuardedFetcher, GuardedFetcherOptions } from './guarded-fetcher.ts'

/** Longest URL from a caller; browsers and servers accept no more. */
export const addressCharacters = 8_192

/** Redirects to follow: a shortener, a mirror, and one more. */
export const redirectsAtMost = 3

/** Timeout of resolving a name, connecting, and getting the first byte. */
export const fetchAnswerMs = 10_000

/** Silence within a file, after which its server counts as gone. */
export const fetchSilenceMs = 10_000

/** Connections to one server on behalf of callers; further fetches wait for a free one. */
export const connectionsPerAddress = 16

/** Ports of the web. Others belong to services that expect no untrusted caller. */
export const webPorts: ReadonlySet<string> = new Set(['', '80', '443'])

/** The part of the guarded fetcher that capabilities use. */
export type Fetcher = Pick<GuardedFetcher, 'fetch'>

/** Loads the guarded fetcher with the first address, because its dependencies would slow every startup. */
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

  async close(): Promise<void> {
    await (await this.#guarded)?.close()
  }
}

/**
 * Why nothing was fetched; `address` if the URL itself is wrong, whatever its server would answer. The message follows
 * the name of a field, and contains nothing from a server.
 */
export class FetchRefused extends Error {
  readonly reason: 'address' | 'unreachable' | 'too_large' | 'too_late'

  constructor(reason: FetchRefused['reason'], problem: string) {
    super(problem)
    this.name = 'FetchRefused'
    this.reason = reason
  }

  /** Wraps whatever a connection throws. */
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
