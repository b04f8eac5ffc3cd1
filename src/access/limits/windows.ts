import { windowCounters, windowMs } from './bounds.ts'
import {
  askedState,
  type Count,
  countedState,
  countedTokens,
  type LimitDimension,
  type LimitStore,
  type Reservation,
  type Standing,
  type Taken,
} from './limit-store.ts'

/** The limiter of one process. Every window is the same UTC minute, so a new one starts with nothing but an empty map. */
export class Windows implements LimitStore {
  readonly #limit: number
  #startMs = 0
  #counters = new Map<string, Count>()

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
    const before = dimensions.map(dimension => askedState(dimension, this.#seen(dimension), tokens))
    const reservation: Reservation = { windowStartMs: this.#startMs, tokens, dimensions }
    const windowStartMs = this.#startMs
    if (before.some(({ met }) => met !== null)) return { allowed: false, reservation, windowStartMs, states: before }
    this.#add(dimensions, 1, dimension => countedTokens(dimension, tokens))
    return { allowed: true, reservation, ...this.#standing(dimensions) }
  }

  async read(dimensions: readonly LimitDimension[], nowMs: number): Promise<Standing> {
    this.#turnTo(nowMs)
    return this.#standing(dimensions)
  }

  #standing(dimensions: readonly LimitDimension[]): Standing {
    const states = dimensions.map(dimension => countedState(dimension, this.#seen(dimension)))
    return { windowStartMs: this.#startMs, states }
  }

  /** Counts what was let in elsewhere, so that the counts of this process are not empty when they are needed. */
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
    // A clock that is set back a little across the minute must not open a fresh window; one set back far must not freeze this one.
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
