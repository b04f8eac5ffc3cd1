import { windowCounters, windowMs } from './bounds.ts'
import {
  countedTokens,
  type DimensionState,
  type LimitDimension,
  type LimitStore,
  type Reservation,
  type Taken,
} from './limit-store.ts'

interface Counter {
  requests: number
  tokens: number
}

/** The limiter of one process. Every window is the same UTC minute, so a new one starts with nothing but an empty map. */
export class Windows implements LimitStore {
  readonly #limit: number
  #startMs = 0
  #counters = new Map<string, Counter>()

  constructor(limit: number = windowCounters) {
    this.#limit = limit
  }

  /** Counters that are held now. */
  get size(): number {
    return this.#counters.size
  }

  // Nothing is awaited between the look and the count, so requests that come together cannot all see the same room.
  async take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken> {
    this.#turnTo(nowMs)
    const before = dimensions.map(dimension => this.#stateOf(dimension, tokens))
    const reservation: Reservation = { windowStartMs: this.#startMs, tokens, dimensions }
    if (before.some(({ met }) => met !== null)) return { allowed: false, reservation, states: before }
    this.#add(dimensions, 1, dimension => countedTokens(dimension, tokens))
    return { allowed: true, reservation, states: dimensions.map(dimension => this.#countOf(dimension)) }
  }

  async correct({ windowStartMs, tokens, dimensions }: Reservation, usedTokens: number): Promise<void> {
    if (windowStartMs !== this.#startMs) return
    this.#add(dimensions, 0, dimension => usedTokens - countedTokens(dimension, tokens))
  }

  #turnTo(nowMs: number): void {
    const startMs = nowMs - (nowMs % windowMs)
    // A clock that is set back a little across the minute must not open a fresh window; one set back far must not freeze this one.
    if (startMs === this.#startMs || startMs === this.#startMs - windowMs) return
    this.#startMs = startMs
    this.#counters = new Map()
  }

  #stateOf(dimension: LimitDimension, tokens: number): DimensionState {
    const state = this.#countOf(dimension)
    if (state.remainingRequests < 1) return { ...state, met: 'requests' }
    if (countedTokens(dimension, tokens) > (state.remainingTokens ?? 0)) return { ...state, met: 'tokens' }
    return state
  }

  #countOf(dimension: LimitDimension): DimensionState {
    const { requests, tokens } = this.#counters.get(dimension.key) ?? { requests: 0, tokens: 0 }
    const remainingRequests = Math.max(0, dimension.requestsPerMinute - requests)
    const state = { dimension, remainingRequests, met: null }
    if (dimension.tokensPerMinute === undefined) return state
    return { ...state, remainingTokens: Math.max(0, dimension.tokensPerMinute - tokens) }
  }

  #add(dimensions: readonly LimitDimension[], requests: number, tokensOf: (dimension: LimitDimension) => number): void {
    for (const dimension of dimensions) {
      const counter = this.#counterOf(dimension.key)
      counter.requests = Math.max(0, counter.requests + requests)
      counter.tokens = Math.max(0, counter.tokens + tokensOf(dimension))
    }
  }

  #counterOf(key: string): Counter {
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
