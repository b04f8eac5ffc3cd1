import { type LimitDimension, windowMs } from '../limit-rules.ts'
import {
  askedState,
  type Count,
  countedState,
  countedTokens,
  type LimitStore,
  type Reservation,
  type Taken,
  type WindowCounts,
  Windows,
} from '../windows.ts'
import { assumedProcesses, type Breaker, counterMs, mostProcesses, script, type Valkey } from './valkey.ts'

/**
 * Uses the shared counts, or this process's own while the server is unreachable. The local counts include everything
 * that this process admitted earlier, and admit only its share of each limit, so together all processes stay near the
 * limit, and an outage alone refuses no request.
 */
export class SharedWindows implements LimitStore {
  readonly #shared: LimitStore
  readonly #breaker: Pick<Breaker, 'ask'>
  readonly #own = new Windows()
  /** Reservations in the shared counts; all others are corrected only locally. */
  readonly #isShared = new WeakSet<Reservation>()
  #processes = assumedProcesses

  constructor(shared: LimitStore, breaker: Pick<Breaker, 'ask'>) {
    this.#shared = shared
    this.#breaker = breaker
  }

  /** The last known number of processes that share the limits. */
  set processes(count: number) {
    if (Number.isSafeInteger(count)) this.#processes = Math.min(mostProcesses, Math.max(1, count))
  }

  async take(dimensions: readonly LimitDimension[], tokens: number, nowMs: number): Promise<Taken> {
    const taken = await this.#breaker.ask(() => this.#shared.take(dimensions, tokens, nowMs))
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

  async read(dimensions: readonly LimitDimension[], nowMs: number): Promise<WindowCounts> {
    const read = await this.#breaker.ask(() => this.#shared.read(dimensions, nowMs))
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
    if (this.#isShared.has(reservation)) await this.#breaker.ask(() => this.#shared.correct(reservation, usedTokens))
  }

  /** A limit of zero stays zero; any other admits at least one request. */
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

/** The limiter of several processes: the counters of `Windows` on a shared server, one script per request. */
export class ValkeyWindows implements LimitStore {
  readonly #valkey: Pick<Valkey, 'run'>
  readonly #prefix: string

  /** `prefix` belongs to one service and has a hash tag. */
  constructor(valkey: Pick<Valkey, 'run'>, prefix: string) {
    this.#valkey = valkey
    this.#prefix = prefix
  }

  /** Rejects if the server does. */
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

  /** Rejects if the server does. */
  async read(dimensions: readonly LimitDimension[], nowMs: number): Promise<WindowCounts> {
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

/**
 * Returns the numbers from a script's answer. Throws for anything else: a server that cannot count is treated as
 * unreachable.
 */
function numbersOf(answer: unknown, length: number): number[] {
  const words = Array.isArray(answer) ? answer.map(String) : []
  if (words.length !== length || !words.every(isCount))
    throw new Error('The server for shared limits returned no counts.')
  return words.map(Number)
}

const isCount = (word: string): boolean => /^\d{1,16}$/.test(word) && Number.isSafeInteger(Number(word))

/**
 * Counts one request and its tokens in every dimension, or in none. The first key holds the newest minute, so that a
 * clock set back a little opens no new window; the others are the counters without their minute. Returns the minute, 1
 * or 0, then requests and tokens of each dimension: after the request if it was admitted, before it if not.
 */
const takeScript = script(`
local start = tonumber(ARGV[1])
local newest = tonumber(redis.call('GET', KEYS[1]) or '0')
if start == newest - tonumber(ARGV[2]) then start = newest
elseif start ~= newest then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3]) end
local minute = string.format('%.0f', start)
local counts, fits = {}, true
for i = 2, #KEYS do
  local at = 4 + (i - 2) * 3
  local found = redis.call('HMGET', KEYS[i] .. ':' .. minute, 'r', 't')
  local r, t = tonumber(found[1] or '0'), tonumber(found[2] or '0')
  counts[i - 1] = { r, t }
  local most = tonumber(ARGV[at + 1])
  if r >= tonumber(ARGV[at]) then fits = false end
  if most >= 0 and tonumber(ARGV[at + 2]) > math.max(0, most - t) then fits = false end
end
local answer = { minute, fits and 1 or 0 }
for i = 2, #KEYS do
  local at = 4 + (i - 2) * 3
  local r, t = counts[i - 1][1], counts[i - 1][2]
  if fits then
    local key = KEYS[i] .. ':' .. minute
    r = redis.call('HINCRBY', key, 'r', 1)
    t = redis.call('HINCRBY', key, 't', ARGV[at + 2])
    redis.call('PEXPIRE', key, ARGV[3])
  end
  answer[#answer + 1] = r
  answer[#answer + 1] = t
end
return answer
`)

/**
 * Reads the current counts without counting. Keys as for a request; returns the minute, then requests and tokens of
 * each dimension.
 */
const readScript = script(`
local start = tonumber(ARGV[1])
local newest = tonumber(redis.call('GET', KEYS[1]) or '0')
if start == newest - tonumber(ARGV[2]) then start = newest end
local minute = string.format('%.0f', start)
local answer = { minute }
for i = 2, #KEYS do
  local found = redis.call('HMGET', KEYS[i] .. ':' .. minute, 'r', 't')
  answer[#answer + 1] = tonumber(found[1] or '0')
  answer[#answer + 1] = tonumber(found[2] or '0')
end
return answer
`)

/** Corrects the tokens of counters that still exist, never below zero. */
const correctScript = script(`
for i = 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    if redis.call('HINCRBY', KEYS[i], 't', ARGV[i]) < 0 then redis.call('HSET', KEYS[i], 't', 0) end
  end
end
return 1
`)
