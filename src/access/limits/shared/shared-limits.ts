import { createHash, randomUUID } from 'node:crypto'
import { abuseBlock } from '#contract/limits.ts'
import { type Clock, isAhead, minuteMs } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { AbuseBlock } from '../abuse-block.ts'
import type { LimitStore } from '../windows.ts'
import { SharedWindows, ValkeyWindows } from './shared-windows.ts'
import { Breaker, blocksRead, forgottenMs, presenceMs, script, Valkey } from './valkey.ts'

/**
 * The abuse block of several processes. Failures are counted in the shared store and locally; a process that starts a
 * block notifies the others, so that no request has to query the store.
 */
export class SharedBlock {
  readonly #own: AbuseBlock
  readonly #clock: Clock
  readonly #valkey: Pick<Valkey, 'run' | 'listen'>
  readonly #breaker: Pick<Breaker, 'ask'>
  readonly #prefix: string

  constructor(options: {
    clock: Clock
    valkey: Pick<Valkey, 'run' | 'listen'>
    breaker: Pick<Breaker, 'ask'>
    prefix: string
  }) {
    this.#clock = options.clock
    this.#valkey = options.valkey
    this.#breaker = options.breaker
    this.#prefix = options.prefix
    this.#own = new AbuseBlock(options.clock)
    const onMessage = (message: string) => {
      const space = message.indexOf(' ')
      this.#hold(message.slice(space + 1), Number(message.slice(0, space)))
    }
    this.#valkey.listen(this.#channel, onMessage, () => void this.catchUp())
  }

  /** Like `AbuseBlock.check`, using the blocks that this process knows. */
  check(subject: string): void {
    this.#own.check(subject)
  }

  /** Counts a failed request, locally and shared. Returns true if it started a block. */
  async count(subject: string): Promise<boolean> {
    const nowMs = this.#clock.now()
    // Counts locally at once, so that no failure is missed while the others are notified.
    const blocks = this.#own.count(subject)
    const keys = [`${this.#prefix}failed:${subject}`, `${this.#prefix}blocked:${subject}`, this.#all]
    const { windowMs, failures, blockMs } = abuseBlock
    const values = [nowMs, windowMs, failures, blockMs, randomUUID(), this.#channel, subject]
    const untilMs = Number(await this.#breaker.ask(() => this.#valkey.run(failureScript, keys, values)))
    if (untilMs > 0) this.#hold(subject, untilMs)
    return blocks || untilMs > 0
  }

  /** The blocks that this process knows, with their ends. */
  blocked(): { subject: string; untilMs: number }[] {
    return this.#own.blocked()
  }

  /** Ends a block here at once, and in the other processes as soon as they hear of it. */
  async lift(subject: string): Promise<void> {
    this.#own.lift(subject)
    const keys = [`${this.#prefix}failed:${subject}`, `${this.#prefix}blocked:${subject}`, this.#all]
    await this.#breaker.ask(() => this.#valkey.run(liftScript, keys, [this.#channel, subject]))
  }

  /** Applies current blocks after a time without messages. */
  async catchUp(): Promise<void> {
    const values = [this.#clock.now(), blocksRead]
    const found = await this.#breaker.ask(() => this.#valkey.run(blocksScript, [this.#all], values))
    const words = Array.isArray(found) ? found.flat().map(String) : []
    for (let at = 0; at + 1 < words.length; at += 2) this.#hold(words[at] ?? '', Number(words[at + 1]))
  }

  #hold(subject: string, untilMs: number): void {
    const latestMs = this.#clock.now() + abuseBlock.blockMs
    if (untilMs === 0) this.#own.lift(subject)
    else if (Number.isFinite(untilMs)) this.#own.hold(subject, Math.min(untilMs, latestMs))
  }

  get #all(): string {
    return `${this.#prefix}blocks`
  }

  get #channel(): string {
    return `${this.#prefix}blocked`
  }
}

/**
 * Counts one failure of a subject. Keys: its failures, its block, all blocks. Values: now, the window, failures
 * allowed, the length of a block, its name among the failures, the channel, the subject. Returns when the block that
 * this failure started ends, or 0.
 */
const failureScript = script(`
local now = tonumber(ARGV[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > now then return '0' end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
redis.call('ZADD', KEYS[1], now, ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[3]) then return '0' end
local untilMs = string.format('%.0f', now + tonumber(ARGV[4]))
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], untilMs, 'PX', ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZADD', KEYS[3], untilMs, ARGV[7])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('PUBLISH', ARGV[6], untilMs .. ' ' .. ARGV[7])
return untilMs
`)

/** Ends a block. Keys: the subject's failures, its block, all blocks. Values: the channel, the subject. */
const liftScript = script(`
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('PUBLISH', ARGV[1], '0 ' .. ARGV[2])
return '0'
`)

/** Returns the current blocks, each followed by its end. */
const blocksScript = script(`
return redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
`)

export interface SharedLimitOptions {
  url: string
  /** Distinguishes services on one server; all processes of a service have the same one. */
  publicUrl: string
  clock: Clock
  log: Log
  /** How long a request waits; `sharedLimitMs` by default. */
  limitMs?: number
  /** How long the server may be silent before the connection is replaced; `silentMs` by default. */
  silentForMs?: number
}

/** What the processes of one service share in addition to their ledger: counts and blocks, never money. */
export interface SharedLimits {
  windows: LimitStore
  block: {
    check(subject: string): void
    count(subject: string): boolean | Promise<boolean>
    blocked(): { subject: string; untilMs: number }[]
    lift(subject: string): void | Promise<void>
  }
  close(): void
}

const tagDigits = 12

/** Does not wait for the server. Throws a sentence if the package is missing or the address is invalid. */
export async function openSharedLimits(options: SharedLimitOptions): Promise<SharedLimits> {
  const { url, publicUrl, clock, log, limitMs, silentForMs } = options
  const tag = createHash('sha256').update(publicUrl).digest('hex').slice(0, tagDigits)
  const prefix = `farebox:{${tag}}:`
  const news = newsOf(log, clock)
  let atReady = () => {}
  const valkey = await Valkey.open({
    url,
    onTrouble: news.away,
    onRefusal: news.refused,
    ...(silentForMs === undefined ? {} : { silentForMs }),
    onReady: () => {
      news.back()
      atReady()
    },
  })
  const breaker = new Breaker({
    clock,
    isReady: () => valkey.isReady,
    onLate: () => news.refused('late'),
    ...(limitMs === undefined ? {} : { limitMs }),
  })
  const windows = new SharedWindows(new ValkeyWindows(valkey, prefix), breaker)
  const block = new SharedBlock({ clock, valkey, breaker, prefix })
  const process = randomUUID()
  const present = async () => {
    const values = [clock.now(), forgottenMs, process]
    const count = await breaker.ask(() => valkey.run(presenceScript, [`${prefix}processes`], values))
    if (count !== null) windows.processes = Number(count)
  }
  atReady = () => void Promise.all([present(), block.catchUp()])
  const timer = setInterval(() => void present(), presenceMs).unref()
  return {
    windows,
    block,
    close() {
      clearInterval(timer)
      valkey.close()
    },
  }
}

/** Logs one line when an outage begins and one when it ends; while the server is of no use, one a minute. */
function newsOf(log: Log, clock: Clock) {
  let isAway = false
  let refusedAtMs = Number.NEGATIVE_INFINITY
  return {
    refused(reason: string) {
      const nowMs = clock.now()
      if (isAhead(refusedAtMs + minuteMs, minuteMs, nowMs)) return
      refusedAtMs = nowMs
      log.warn(
        { reason },
        'The server for shared limits refuses commands or answers too late; until that ends, each process applies its share of the limits.',
      )
    },
    away(reason: string) {
      if (!isAway)
        log.warn(
          { reason },
          'The server for shared limits is unreachable; until it is back, each process applies its share of the limits.',
        )
      isAway = true
    },
    back() {
      if (isAway) log.info({}, 'The server for shared limits is reachable again.')
      isAway = false
    },
  }
}

/** Registers this process and returns how many are registered. */
const presenceScript = script(`
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(ARGV[1]) - tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
`)
