import { windowMs } from '../bounds.ts'
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
} from '../limit-store.ts'
import { counterMs } from './bounds.ts'
import { correctScript, readScript, takeScript } from './scripts.ts'
import type { Valkey } from './valkey.ts'

/** The limiter of several processes: the counters of `Windows` on a server that all of them reach, a script a request. */
export class ValkeyWindows implements LimitStore {
  readonly #valkey: Pick<Valkey, 'run'>
  readonly #prefix: string

  /** `prefix` is that of one service, with a hash tag. */
  constructor(valkey: Pick<Valkey, 'run'>, prefix: string) {
    this.#valkey = valkey
    this.#prefix = prefix
  }

  /** Rejects where the server does. */
  async take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken> {
    const keys = [`${this.#prefix}minute`, ...dimensions.map(({ key }) => this.#keyOf(key))]
    const asked = dimensions.flatMap(dimension => [
      dimension.requestsPerMinute,
      dimension.tokensPerMinute ?? -1,
      countedTokens(dimension, tokens),
    ])
    const startMs = nowMs - (nowMs % windowMs)
    const answer = await this.#valkey.run(takeScript, keys, [startMs, windowMs, counterMs, ...asked])
    const [minute = startMs, fits, ...counts] = numbersOf(answer, 2 + dimensions.length * 2)
    const allowed = fits === 1
    const reservation = { windowStartMs: minute, tokens, dimensions }
    const states = dimensions.map((dimension, index) => {
      const count = countAt(counts, index)
      return allowed ? countedState(dimension, count) : askedState(dimension, count, tokens)
    })
    return { allowed, reservation, windowStartMs: minute, states }
  }

  /** Rejects where the server does. */
  async read(dimensions: readonly LimitDimension[], nowMs: number): Promise<Standing> {
    const keys = [`${this.#prefix}minute`, ...dimensions.map(({ key }) => this.#keyOf(key))]
    const startMs = nowMs - (nowMs % windowMs)
    const answer = await this.#valkey.run(readScript, keys, [startMs, windowMs])
    const [minute = startMs, ...counts] = numbersOf(answer, 1 + dimensions.length * 2)
    const states = dimensions.map((dimension, index) => countedState(dimension, countAt(counts, index)))
    return { windowStartMs: minute, states }
  }

  async correct({ windowStartMs, tokens, dimensions }: Reservation, usedTokens: number): Promise<void> {
    const changes = dimensions.map(dimension => usedTokens - countedTokens(dimension, tokens))
    const keys = dimensions.map(({ key }) => `${this.#keyOf(key)}:${windowStartMs}`)
    await this.#valkey.run(correctScript, keys, changes)
  }

  #keyOf(key: string): string {
    return `${this.#prefix}count:${key}`
  }
}

const countAt = (counts: readonly number[], index: number): Count => ({
  requests: counts[index * 2] ?? 0,
  tokens: counts[index * 2 + 1] ?? 0,
})

/** What a script answers; throws where it is anything else, because what cannot count is as good as away. */
function numbersOf(answer: unknown, length: number): number[] {
  const words = Array.isArray(answer) ? answer.map(String) : []
  if (words.length !== length || !words.every(isCount)) throw new Error('The shared counts answered no counts.')
  return words.map(Number)
}

const isCount = (word: string): boolean => /^\d{1,16}$/.test(word) && Number.isSafeInteger(Number(word))
