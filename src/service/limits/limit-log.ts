import type { z } from 'zod'
import type { Clock } from '#contract/clock.ts'
import { rateLimitLogRows } from '#contract/limits.ts'
import type { RateLimitLog } from '#contract/rate-limits.ts'
import type { Store } from '../store/store.ts'
import type { LogLimit } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { loggedPairsPerMinute, windowMs } from './bounds.ts'

export type MetLimit = Pick<LogLimit, 'account' | 'key' | 'model' | 'tier' | 'type'>

/** Whether no other process said this for so many milliseconds; none is asked where there are none. */
type IsFirst = (what: string, forMs: number) => Promise<boolean>

/** Requests that met a limit: at most one row a minute, account, model and type, so that a flood writes no flood. */
export class LimitLog {
  readonly #store: Store
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  readonly #isFirst: IsFirst | null
  #minute = -1
  #logged = new Set<string>()

  constructor(options: { store: Store; clock: Clock; onFailure: (error: unknown) => void; isFirst?: IsFirst }) {
    this.#isFirst = options.isFirst ?? null
    this.#store = options.store
    this.#clock = options.clock
    this.#onFailure = options.onFailure
  }

  /** Never rejects, and no answer needs to wait for it: a lost row is told to `onFailure`, the caller gets its 429 anyway. */
  async note(met: MetLimit): Promise<void> {
    const atMs = this.#clock.now()
    const minute = Math.floor(atMs / windowMs)
    if (!this.#isNew(met, minute)) return
    try {
      const { account, model, type } = met
      if (this.#isFirst && !(await this.#isFirst(JSON.stringify([minute, account, model, type]), windowMs))) return
      const [outcome] = await this.#store.commit([
        { id: `${uuidV7(atMs)}:limit`, ops: [{ op: 'limit', ...met, atMs }] },
      ])
      if (outcome && !outcome.ok)
        this.#onFailure(new Error(`The store refused a row of the limit log: ${outcome.why}.`))
    } catch (error) {
      this.#onFailure(error)
    }
  }

  #isNew({ account, model, type }: MetLimit, minute: number): boolean {
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#logged = new Set()
    }
    const key = JSON.stringify([account, model, type])
    if (this.#logged.has(key) || this.#logged.size >= loggedPairsPerMinute) return false
    this.#logged.add(key)
    return true
  }
}

/** The last 50 of an account, newest first. A wallet has no key; its account stands in that place. */
export async function readLimitLog(store: Store, account: string): Promise<z.output<typeof RateLimitLog>> {
  const rows = await store.read
    .selectFrom('limit_log')
    .selectAll()
    .where('account', '=', account)
    .orderBy('seq', 'desc')
    .limit(rateLimitLogRows)
    .execute()
  return {
    object: 'list',
    data: rows.map(row => ({
      apiKeyId: row.key ?? row.account,
      modelId: row.model,
      rateLimitTier: row.tier,
      rateLimitType: row.type,
      timestamp: new Date(row.created_at_ms).toISOString(),
    })),
  }
}
