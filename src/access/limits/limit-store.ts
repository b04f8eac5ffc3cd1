import type { RateLimit } from '#contract/limits.ts'
import type { LimitType } from '#contract/wire/headers.ts'

/** One count that a request must fit into. */
export interface LimitDimension extends RateLimit {
  /** Names the counter: whom it counts and what. */
  key: string
  type: LimitType
}

/** What a request took, so that it can be corrected: plain data, also across processes. */
export interface Reservation {
  /** Start of its window; what is corrected after that minute is corrected for nobody. */
  windowStartMs: number
  tokens: number
  dimensions: readonly LimitDimension[]
}

export interface DimensionState {
  dimension: LimitDimension
  /** After this request where it was let in; as they were where it was refused. */
  remainingRequests: number
  /** Absent where the dimension counts no tokens. */
  remainingTokens?: number
  /** What refused this request, or null. */
  met: 'requests' | 'tokens' | null
}

/** How counts stand in a window. */
export interface Standing {
  windowStartMs: number
  /** In the order of the dimensions that were asked. */
  states: readonly DimensionState[]
}

export interface Taken extends Standing {
  allowed: boolean
  reservation: Reservation
}

/** Counts requests and tokens of a minute. In this process, or one script on a shared store. */
export interface LimitStore {
  /** One request and its estimated tokens fit into every dimension, or nothing is counted anywhere. */
  take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken>
  /** The counts of now; nothing is counted. */
  read(dimensions: readonly LimitDimension[], nowMs: number): Promise<Standing>
  /** Replaces the estimate by the tokens that were used. Once a reservation. */
  correct(reservation: Reservation, usedTokens: number): Promise<void>
}

/** What one counter has of its window. */
export interface Count {
  requests: number
  tokens: number
}

/** How a dimension stands at these counts, whatever is asked of it. */
export function countedState(dimension: LimitDimension, { requests, tokens }: Count): DimensionState {
  const remainingRequests = Math.max(0, dimension.requestsPerMinute - requests)
  const state = { dimension, remainingRequests, met: null }
  if (dimension.tokensPerMinute === undefined) return state
  return { ...state, remainingTokens: Math.max(0, dimension.tokensPerMinute - tokens) }
}

/** The same with what refuses one more request of so many tokens, or null. */
export function askedState(dimension: LimitDimension, count: Count, tokens: number): DimensionState {
  const state = countedState(dimension, count)
  if (state.remainingRequests < 1) return { ...state, met: 'requests' }
  if (countedTokens(dimension, tokens) > (state.remainingTokens ?? 0)) return { ...state, met: 'tokens' }
  return state
}

/**
 * What an estimate counts in a dimension: a request that is larger than a whole minute's tokens counts as all of them,
 * because otherwise it could never be served.
 */
export const countedTokens = (dimension: LimitDimension, tokens: number): number =>
  Math.min(tokens, dimension.tokensPerMinute ?? 0)
