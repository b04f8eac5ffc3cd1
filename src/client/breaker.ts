import type { Clock } from '#contract/clock.ts'
import { abuseBlock } from '#contract/limits.ts'
import { ClientError } from './client-error.ts'
import { blockJitterMs, breakerFailures, breakerUncountedUnanswered, breakerWindowMs } from './limits.ts'

export interface FailureMark {
  atMs: number
  /** False where no answer came: the service need not have seen the request. */
  wasAnswered: boolean
}

/** Where failures are counted; one for all processes of a machine, or one for this process. */
export interface BreakerStore {
  /** Also forgets what is older than the window. */
  add(key: string, mark: FailureMark): void
  /** Marks since a time, oldest first. */
  since(key: string, atMs: number): readonly FailureMark[]
  blockUntil(key: string, untilMs: number): void
  blockedUntilMs(key: string): number
}

export function memoryBreakerStore(): BreakerStore {
  const marks = new Map<string, FailureMark[]>()
  const blocks = new Map<string, number>()
  return {
    add(key, mark) {
      const kept = (marks.get(key) ?? []).filter(({ atMs }) => atMs > mark.atMs - breakerWindowMs)
      marks.set(key, [...kept, mark])
    },
    since: (key, atMs) => (marks.get(key) ?? []).filter(mark => mark.atMs > atMs),
    blockUntil: (key, untilMs) => void blocks.set(key, untilMs),
    blockedUntilMs: key => blocks.get(key) ?? 0,
  }
}

/** Keeps a caller below the service's block of more than 20 failures in 30 s (brief §7.3). */
export class Breaker {
  readonly #store: BreakerStore
  readonly #clock: Clock
  /** Origin and principal. */
  readonly #key: string
  readonly #random: () => number

  constructor(store: BreakerStore, clock: Clock, key: string, random: () => number = Math.random) {
    this.#store = store
    this.#clock = clock
    this.#key = key
    this.#random = random
  }

  /** Throws `breaker-open` with the time at which the oldest failure leaves the window. Nothing has been sent then. */
  admit(): void {
    const nowMs = this.#clock.now()
    const untilMs = Math.max(this.#store.blockedUntilMs(this.#key), this.#fullUntilMs(nowMs))
    if (untilMs <= nowMs) return
    throw new ClientError('breaker-open', 'Too many requests to the service failed just now.', {
      wasSent: false,
      retryAtMs: untilMs,
    })
  }

  failed(wasAnswered: boolean): void {
    this.#store.add(this.#key, { atMs: this.#clock.now(), wasAnswered })
  }

  /** The service has said that it blocks this caller. */
  blocked(): void {
    this.#store.blockUntil(this.#key, this.#clock.now() + abuseBlock.blockMs + blockJitterMs * this.#random())
  }

  #fullUntilMs(nowMs: number): number {
    const marks = this.#store.since(this.#key, nowMs - breakerWindowMs)
    const counted = marks.length > breakerUncountedUnanswered ? marks : marks.filter(mark => mark.wasAnswered)
    const leaving = counted[counted.length - breakerFailures]
    return leaving ? leaving.atMs + breakerWindowMs : 0
  }
}
