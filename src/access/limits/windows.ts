import { type LimitDimension, windowCounters, windowMs } from './limit-rules.ts'

/** What a request used, so that it can be corrected: plain data that other processes can read. */
export interface Reservation {
  /** Start of its window. After that minute a correction has no effect. */
  windowStartMs: number
  tokens: number
  dimensions: readonly LimitDimension[]
}

export interface DimensionState {
  dimension: LimitDimension
  /** After this request if it was admitted; unchanged if it was refused. */
  remainingRequests: number
  /** Absent if the dimension does not count tokens. */
  remainingTokens?: number
  /** The limit that refused this request, or null. */
  met: 'requests' | 'tokens' | null
}

export interface WindowCounts {
  windowStartMs: number
  /** In the order of the requested dimensions. */
  states: readonly DimensionState[]
}

export interface Taken extends WindowCounts {
  allowed: boolean
  reservation: Reservation
}

/** Counts requests and tokens per minute, in this process or with one script on a shared store. */
export interface LimitStore {
  /** Counts one request and its estimated tokens in every dimension, or in none if one is full. */
  take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken>
  /** Returns the current counts without counting. */
  read(dimensions: readonly LimitDimension[], nowMs: number): Promise<WindowCounts>
  /** Replaces the estimate with the tokens that were used. Called once per reservation. */
  correct(reservation: Reservation, usedTokens: number): Promise<void>
}

/** What one counter has counted in its window. */
export interface Count {
  requests: number
  tokens: number
}

/** Returns what these counts leave of a dimension. */
export function countedState(dimension: LimitDimension, { requests, tokens }: Count): DimensionState {
  const remainingRequests = Math.max(0, dimension.requestsPerMinute - requests)
  const state = { dimension, remainingRequests, met: null }
  if (dimension.tokensPerMinute === undefined) return state
  return { ...state, remainingTokens: Math.max(0, dimension.tokensPerMinute - tokens) }
}

/** Returns what is left of a dimension, and why one more request of this many tokens is refused, if it is. */
export function askedState(dimension: LimitDimension, count: Count, tokens: number): DimensionState {
  const state = countedState(dimension, count)
  if (state.remainingRequests < 1) return { ...state, met: 'requests' }
  if (countedTokens(dimension, tokens) > (state.remainingTokens ?? 0)) return { ...state, met: 'tokens' }
  return state
}

/**
 * Returns how many tokens an estimate counts as in a dimension: at most a whole minute's, because otherwise a larger
 * request could never be served.
 */
export const countedTokens = (dimension: LimitDimension, tokens: number): number =>
  Math.min(tokens, dimension.tokensPerMinute ?? 0)

/** The limiter of one process. Every window is the same UTC minute, so a new one simply starts with an empty map. */
export class Windows implements LimitStore {
  readonly #limit: number
  #startMs = 0
  #counters = new Map<string, Count>()

  constructor(limit: number = windowCounters) {
    this.#limit = limit
  }

  get size(): number {
    return this.#counters.size
  }

  // Nothing is awaited between checking and counting, so concurrent requests cannot all take the same room.
  async take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken> {
    this.#turnTo(nowMs)
    const before = dimensions.map(dimension => askedState(dimension, this.#seen(dimension), tokens))
    const reservation: Reservation = { windowStartMs: this.#startMs, tokens, dimensions }
    const windowStartMs = this.#startMs
    if (before.some(({ met }) => met !== null)) return { allowed: false, reservation, windowStartMs, states: before }
    this.#add(dimensions, 1, dimension => countedTokens(dimension, tokens))
    return { allowed: true, reservation, ...this.#counts(dimensions) }
  }

  async read(dimensions: readonly LimitDimension[], nowMs: number): Promise<WindowCounts> {
    this.#turnTo(nowMs)
    return this.#counts(dimensions)
  }

  #counts(dimensions: readonly LimitDimension[]): WindowCounts {
    const states = dimensions.map(dimension => countedState(dimension, this.#seen(dimension)))
    return { windowStartMs: this.#startMs, states }
  }

  /** Counts a request that the shared store admitted, so that the local counts are correct when they are needed. */
  add(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): void {
    this.#turnTo(nowMs)
    this.#add(dimensions, 1, dimension => countedTokens(dimension, tokens))
  }

  async correct({ windowStartMs, tokens, dimensions }: Reservation, usedTokens: number): Promise<void> {
    if (windowStartMs !== this.#startMs) return
    this.#add(dimensions, 0, dimension => usedTokens - countedTokens(dimension, tokens))
  }

  #turnTo(nowMs: number): void {
    const startMs = nowMs - (nowMs % windowMs)
    // A clock set back a little across the minute must not open a new window; one set back far must not freeze this
    // one.
    if (startMs === this.#startMs || startMs === this.#startMs - windowMs) return
    this.#startMs = startMs
    this.#counters = new Map()
  }

  #seen({ key }: LimitDimension): Count {
    return this.#counters.get(key) ?? nothing
  }

  #add(dimensions: readonly LimitDimension[], requests: number, tokensOf: (dimension: LimitDimension) => number): void {
    for (const dimension of dimensions) {
      const counter = this.#counterOf(dimension.key)
      counter.requests = Math.max(0, counter.requests + requests)
      counter.tokens = Math.max(0, counter.tokens + tokensOf(dimension))
    }
  }

  #counterOf(key: string): Count {
    const known = this.#counters.get(key)
    if (known) return known
    if (this.#counters.size >= this.#limit) {
      const [oldest] = this.#counters.keys()
      if (oldest !== undefined) this.#counters.delete(oldest)
    }
    const counter = { requests: 0, tokens: 0 }
    this.#counters.set(key, counter)
    return counter
  }
}

const nothing: Count = { requests: 0, tokens: 0 }
