import { createHash, randomUUID } from 'node:crypto'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import type { LimitStore } from '../limit-store.ts'
import { forgottenMs, presenceMs } from './bounds.ts'
import { firstScript, presenceScript } from './scripts.ts'
import { SharedBlock } from './shared-block.ts'
import { SharedWindows } from './shared-windows.ts'
import { Valkey } from './valkey.ts'
import { ValkeyWindows } from './valkey-windows.ts'
import { WhileThere } from './while-there.ts'

export interface SharedLimitOptions {
  url: string
  /** Tells services on one server apart; all processes of one have the same. */
  publicUrl: string
  clock: Clock
  log: Log
  /** How long a request waits; `sharedLimitMs` where absent. */
  limitMs?: number
}

/** What processes of one service share beside their books: counts and blocks, and never money. */
export interface SharedLimits {
  windows: LimitStore
  block: Pick<SharedBlock, 'check' | 'count'>
  /** Whether nobody said this for so long; true where nobody knows. */
  isFirst(what: string, forMs: number): Promise<boolean>
  close(): void
}

const tagDigits = 12

/** Does not wait for the server. Throws a sentence where the package is missing, or the address is none. */
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
  const there = new WhileThere({ clock, isReady: () => valkey.isReady, ...(limitMs === undefined ? {} : { limitMs }) })
  const windows = new SharedWindows(new ValkeyWindows(valkey, prefix), there)
  const block = new SharedBlock({ clock, valkey, there, prefix })
  const process = randomUUID()
  const present = async () => {
    const values = [clock.now(), forgottenMs, process]
    const count = await there.ask(() => valkey.run(presenceScript, [`${prefix}processes`], values))
    if (count !== null) windows.processes = Number(count)
  }
  atReady = () => void Promise.all([present(), block.catchUp()])
  const timer = setInterval(() => void present(), presenceMs).unref()
  return {
    windows,
    block,
    async isFirst(what, forMs) {
      const key = `${prefix}said:${createHash('sha256').update(what).digest('base64url')}`
      return (await there.ask(() => valkey.run(firstScript, [key], [forMs]))) !== 0
    },
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
