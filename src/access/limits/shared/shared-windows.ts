import type { LimitDimension, LimitStore, Reservation, Standing, Taken } from '../limit-store.ts'
import { Windows } from '../windows.ts'
import { assumedProcesses, mostProcesses } from './bounds.ts'
import type { WhileThere } from './while-there.ts'

/**
 * Shared counts, and those of this process while they are away. The own ones know what this process let in before, and
 * admit only its part of each limit: all processes together stay near the limit, and nobody is refused for an outage alone.
 */
export class SharedWindows implements LimitStore {
  readonly #shared: LimitStore
  readonly #there: Pick<WhileThere, 'ask'>
  readonly #own = new Windows()
  /** Reservations that the shared counts have; others are corrected here alone. */
  readonly #isShared = new WeakSet<Reservation>()
  #processes = assumedProcesses

  constructor(shared: LimitStore, there: Pick<WhileThere, 'ask'>) {
    this.#shared = shared
    this.#there = there
  }

  /** How many processes share the limits, as was last known. */
  set processes(count: number) {
    if (Number.isSafeInteger(count)) this.#processes = Math.min(mostProcesses, Math.max(1, count))
  }

  async take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken> {
    const taken = await this.#there.ask(() => this.#shared.take(dimensions, tokens, nowMs))
    if (!taken)
      return this.#own.take(
        dimensions.map(each => this.#partOf(each)),
        tokens,
        nowMs,
      )
    this.#isShared.add(taken.reservation)
    if (taken.allowed) this.#own.add(dimensions, tokens, nowMs)
    return taken
  }

  async read(dimensions: readonly LimitDimension[], nowMs: number): Promise<Standing> {
    const read = await this.#there.ask(() => this.#shared.read(dimensions, nowMs))
    return (
      read ??
      this.#own.read(
        dimensions.map(each => this.#partOf(each)),
        nowMs,
      )
    )
  }

  async correct(reservation: Reservation, usedTokens: number): Promise<void> {
    await this.#own.correct(reservation, usedTokens)
    if (this.#isShared.has(reservation)) await this.#there.ask(() => this.#shared.correct(reservation, usedTokens))
  }

  /** A limit of nothing stays one; any other lets somebody in. */
  #partOf(dimension: LimitDimension): LimitDimension {
    const part = (whole: number) => Math.min(whole, Math.max(1, Math.floor(whole / this.#processes)))
    const { requestsPerMinute, tokensPerMinute } = dimension
    return {
      ...dimension,
      requestsPerMinute: part(requestsPerMinute),
      ...(tokensPerMinute === undefined ? {} : { tokensPerMinute: part(tokensPerMinute) }),
    }
  }
}
