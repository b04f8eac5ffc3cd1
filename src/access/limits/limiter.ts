import { rateLimitExceeded } from '#contract/errors/errors.ts'
import type { HeaderFields } from '#contract/errors/retry-after.ts'
import type { Clock } from '#contract/time.ts'
import { givenBackHeaders, limitHeaders, takenHeaders } from './limit-headers.ts'
import { type LimitedRequest, limitDimensions } from './limit-rules.ts'
import type { LimitSettings } from './limit-settings.ts'
import type { LimitStore, Taken } from './limit-store.ts'

/** A request that is within its limits. */
export interface Admission {
  /** Brief §8.4, for the answer. */
  headers: HeaderFields
  /** Replaces the estimated tokens by those that were used; later calls change nothing. */
  tokensUsed(tokens: number): Promise<void>
  /** Gives the estimated tokens back unless the used ones were told; null then, else the headers as they are after that. */
  giveBack(): HeaderFields | null
}

/** Joins rules, counts and headers: what a request meets after it has been parsed. */
export class Limiter {
  readonly #store: LimitStore
  readonly #clock: Clock
  readonly #settings: () => LimitSettings | undefined

  constructor(options: {
    store: LimitStore
    clock: Clock
    /** Asked at each request, because an operator changes them while the service runs. */
    settings?: () => LimitSettings | undefined
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#settings = options.settings ?? (() => undefined)
  }

  /** Throws 429 `rateLimitExceeded` with every header, having counted nothing. */
  async admit(request: LimitedRequest, estimatedTokens = 0): Promise<Admission> {
    const nowMs = this.#clock.now()
    const taken = await this.#store.take(limitDimensions(request, this.#settings()), estimatedTokens, nowMs)
    if (taken.allowed) return this.#admission(taken, nowMs)
    throw rateLimitExceeded(takenHeaders(taken, nowMs))
  }

  /** The headers of a request that is not counted. */
  async read(request: LimitedRequest): Promise<HeaderFields> {
    const nowMs = this.#clock.now()
    return limitHeaders(await this.#store.read(limitDimensions(request, this.#settings()), nowMs), nowMs)
  }

  #admission(taken: Taken, nowMs: number): Admission {
    const { reservation } = taken
    let corrected = false
    const correct = async (tokens: number) => {
      if (corrected) return
      corrected = true
      await this.#store.correct(reservation, tokens)
    }
    return {
      headers: takenHeaders(taken, nowMs),
      tokensUsed: correct,
      giveBack: () => {
        if (corrected) return null
        // Not awaited: the refusal waits for no other process, and a correction never rejects.
        void correct(0)
        return givenBackHeaders(taken, nowMs)
      },
    }
  }
}
