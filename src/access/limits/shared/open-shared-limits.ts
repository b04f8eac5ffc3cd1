import { createHash, randomUUID } from 'node:crypto'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import type { LimitStore } from '../windows.ts'
import { SharedBlock } from './shared-block.ts'
import { SharedWindows, ValkeyWindows } from './shared-windows.ts'
import { Breaker, forgottenMs, presenceMs, script, Valkey } from './valkey.ts'

export interface SharedLimitOptions {
  url: string
  /** Tells services on one server apart; all processes of one have the same. */
  publicUrl: string
  clock: Clock
  log: Log
  /** How long a request waits; `sharedLimitMs` where absent. */
  limitMs?: number
}

/** What the processes of one service share beside their ledger: counts and blocks, never money. */
export interface SharedLimits {
  windows: LimitStore
  block: Pick<SharedBlock, 'check' | 'count'>
  close(): void
}

const tagDigits = 12

/** Does not wait for the server. Throws a sentence if the package is missing or the address is invalid. */
export async function openSharedLimits(options: SharedLimitOptions): Promise<SharedLimits> {
  const { url, publicUrl, clock, log, limitMs } = options
  const tag = createHash('sha256').update(publicUrl).digest('hex').slice(0, tagDigits)
  const prefix = `farebox:{${tag}}:`
  const news = newsOf(log)
  let atReady = () => {}
  const valkey = await Valkey.open({
    url,
    onTrouble: news.away,
    onReady: () => {
      news.back()
      atReady()
    },
  })
  const breaker = new Breaker({ clock, isReady: () => valkey.isReady, ...(limitMs === undefined ? {} : { limitMs }) })
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

/** An outage is a line at its beginning and one at its end. */
function newsOf(log: Log) {
  let isAway = false
  return {
    away(reason: string) {
      if (!isAway)
        log.warn({ reason }, 'The shared limits cannot be reached; each process keeps to its part of them meanwhile.')
      isAway = true
    },
    back() {
      if (isAway) log.info({}, 'The shared limits are there again.')
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
