import { rateLimitExceeded } from '#contract/errors/errors.ts'
import { type HeaderFields, secondsUntil } from '#contract/errors/retry-after.ts'
import type { Clock } from '#contract/time.ts'
import {
  limitRequests,
  limitTokens,
  limitType,
  remainingRequests,
  remainingTokens,
  resetRequests,
  resetTokens,
  retryAfter,
  rpcLimit,
  rpcRemaining,
  rpcReset,
} from '#contract/wire/headers.ts'
import { type LimitedRequest, type LimitSettings, limitDimensions, windowMs } from './limit-rules.ts'
import { countedTokens, type DimensionState, type LimitStore, type Taken, type WindowCounts } from './windows.ts'

interface Admission {
  /** Headers for the answer (brief §8.4). */
  headers: HeaderFields
  /** Replaces the estimated tokens with the used ones; later calls have no effect. */
  tokensUsed(tokens: number): Promise<void>
  /** Gives the estimated tokens back unless the used ones were reported. Returns the headers after that, or null. */
  giveBack(): HeaderFields | null
}

/** Applies rules, counts and headers to a request after it has been parsed. */
export class Limiter {
  readonly #store: LimitStore
  readonly #clock: Clock
  readonly #settings: () => LimitSettings | undefined

  constructor(options: {
    store: LimitStore
    clock: Clock
    /** Read at each request, because an operator may change them while the service runs. */
    settings?: () => LimitSettings | undefined
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#settings = options.settings ?? (() => undefined)
  }

  /** Throws 429 `rateLimitExceeded` with every header, and then counts nothing. */
  async admit(request: LimitedRequest, estimatedTokens = 0): Promise<Admission> {
    const nowMs = this.#clock.now()
    const taken = await this.#store.take(limitDimensions(request, this.#settings()), estimatedTokens, nowMs)
    if (taken.allowed) return this.#admission(taken, nowMs)
    throw rateLimitExceeded(takenHeaders(taken, nowMs))
  }

  /** Returns the headers of a request that is not counted. */
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

/**
 * Returns the limit headers (brief §8.4) of a request that was counted or refused; for a refusal also when to retry.
 */
export const takenHeaders = (taken: Taken, nowMs: number): HeaderFields =>
  limitHeaders(taken, nowMs, { isRefused: !taken.allowed })

/** Returns the same headers after an admitted request's estimated tokens were given back. */
export const givenBackHeaders = (taken: Taken, nowMs: number): HeaderFields =>
  limitHeaders({ ...taken, states: taken.states.map(state => withTokensBack(state, taken.reservation.tokens)) }, nowMs)

function withTokensBack(state: DimensionState, tokens: number): DimensionState {
  const { dimension, remainingTokens } = state
  if (remainingTokens === undefined) return state
  const most = dimension.tokensPerMinute ?? 0
  return { ...state, remainingTokens: Math.min(most, remainingTokens + countedTokens(dimension, tokens)) }
}

/** Combines the tightest dimension of requests with the tightest of tokens. */
export function limitHeaders(
  { windowStartMs, states }: WindowCounts,
  nowMs: number,
  { isRefused = false } = {},
): HeaderFields {
  const requests = tightest(states, state => state.remainingRequests / state.dimension.requestsPerMinute)
  if (!requests) return {}
  const counted = states.filter(state => state.remainingTokens !== undefined)
  const tokens = tightest(counted, state => (state.remainingTokens ?? 0) / (state.dimension.tokensPerMinute ?? 1))
  const endMs = windowStartMs + windowMs
  const refusing = states.find(({ met }) => met !== null)
  return {
    [limitRequests.name]: limitRequests.format(requests.dimension.requestsPerMinute),
    [remainingRequests.name]: remainingRequests.format(requests.remainingRequests),
    // This also holds if tokens were the tighter limit, because both reset at the same moment.
    [resetRequests.name]: resetRequests.format(Math.ceil(endMs / 1000)),
    ...(tokens && tokenHeaders(tokens, endMs - nowMs)),
    [limitType.name]: limitType.format((refusing ?? requests).dimension.type),
    ...(isRefused && requests.dimension.key.includes(':crypto.rpc:')
      ? rpcLimitHeaders({ limit: requests.dimension.requestsPerMinute, remaining: 0, resetMs: endMs })
      : {}),
    ...(isRefused && { [retryAfter.name]: retryAfter.format(secondsUntil(endMs, nowMs)) }),
  }
}

/** The header names that the contract publishes for chain nodes only; the reset is in Unix seconds. */
export const rpcLimitHeaders = (met: { limit: number; remaining: number; resetMs: number }): HeaderFields => ({
  [rpcLimit.name]: rpcLimit.format(met.limit),
  [rpcRemaining.name]: rpcRemaining.format(met.remaining),
  [rpcReset.name]: rpcReset.format(Math.ceil(met.resetMs / 1000)),
})

function tokenHeaders({ dimension, remainingTokens: remaining }: DimensionState, untilMs: number): HeaderFields {
  return {
    [limitTokens.name]: limitTokens.format(dimension.tokensPerMinute ?? 0),
    [remainingTokens.name]: remainingTokens.format(remaining ?? 0),
    [resetTokens.name]: resetTokens.format(Math.max(0, Math.ceil(untilMs / 1000))),
  }
}

function tightest(states: readonly DimensionState[], room: (state: DimensionState) => number): DimensionState | null {
  return states.reduce<DimensionState | null>(
    (least, state) => (least === null || room(state) < room(least) ? state : least),
    null,
  )
}
