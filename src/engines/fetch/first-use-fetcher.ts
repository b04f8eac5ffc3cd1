import type { FetchedFile, FetchOrder, GuardedFetcher, GuardedFetcherOptions } from './guarded-fetcher.ts'

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
