import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { rateLimitLogRows } from '#contract/limits.ts'
import type { RateLimitLog } from '#contract/operations/rate-limits.ts'
import type { Clock } from '#contract/time.ts'
import { limitType, remainingRequests } from '#contract/wire/headers.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'
import type { LogLimit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type LimitedDemand, limitLogCommitMs, loggedAccounts, loggedRowsPerCommit } from './limit-rules.ts'

export type MetLimit = Pick<LogLimit, 'account' | 'key' | 'model' | 'tier' | 'type'>

/**
 * Logs requests that hit a limit, one row each, in a ring of an account's newest. Rows are collected in memory and
 * committed at most once per `limitLogCommitMs`, so that a flood of refusals does not become a flood of commits.
 */
export class LimitLog {
  readonly #store: Store
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  readonly #commitMs: number
  /** The newest rows of each account, oldest first. */
  readonly #waiting = new RecentMap<LogLimit[]>(loggedAccounts)
  /** Accounts in the commit that is running. */
  #committed: ReadonlySet<string> = new Set()
  #committedAtMs = Number.NEGATIVE_INFINITY
  #committing: Promise<void> = Promise.resolve()
  #writing: Promise<void> | null = null
  readonly #pause = new AbortController()

  constructor(options: {
    store: Store
    clock: Clock
    onFailure: (error: unknown) => void
    /** Defaults to `limitLogCommitMs`. */
    commitMs?: number
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#onFailure = options.onFailure
    this.#commitMs = options.commitMs ?? limitLogCommitMs
  }

  /** No answer waits for this. If a row is lost, this is reported to `onFailure`, and the caller still gets its 429. */
  note(met: MetLimit): void {
    const rows = this.#waiting.get(met.account) ?? []
    rows.push({ op: 'limit', ...met, atMs: this.#clock.now() })
    if (rows.length > rateLimitLogRows) rows.shift()
    this.#waiting.set(met.account, rows)
    this.#writing ??= this.#write()
  }

  /** Writes pending rows at once, when a service ends. Never rejects. */
  async flush(): Promise<void> {
    this.#pause.abort()
    await this.#writing
  }

  /** Returns an account's latest rows, newest first, including those that this process logged before the call. */
  async read(account: string): Promise<z.output<typeof RateLimitLog>> {
    // A row that was noted during a commit is in the next one.
    for (let commits = 0; commits < 2 && this.#isUnwritten(account); commits++) await this.#committing
    return readLimitLog(this.#store, account)
  }

  #isUnwritten(account: string): boolean {
    return this.#committed.has(account) || this.#waiting.get(account) !== undefined
  }

  async #write(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#committing = this.#commitSoon()
      await this.#committing
    }
    this.#writing = null
  }

  async #commitSoon(): Promise<void> {
    // Uses a monotonic clock: rows must not wait because the clock was set back.
    const waitMs = this.#committedAtMs + this.#commitMs - performance.now()
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: this.#pause.signal }).catch(() => undefined)
    this.#committedAtMs = performance.now()
    const rows = this.#taken()
    this.#committed = new Set(rows.map(({ account }) => account))
    try {
      const outcomes = await this.#store.commit(rows.map(row => ({ id: `${uuidV7(row.atMs)}:limit`, ops: [row] })))
      const refused = outcomes.find(outcome => !outcome.ok)
      if (refused && !refused.ok) throw new Error(`The store refused a row of the limit log: ${refused.why}.`)
    } catch (error) {
      this.#onFailure(error)
    }
    this.#committed = new Set()
  }

  /** Returns the rows of one commit, sorted by account, because other processes delete ring rows in the same order. */
  #taken(): LogLimit[] {
    const taken: LogLimit[] = []
    for (const account of [...this.#waiting.keys()].sort()) {
      const rows = this.#waiting.get(account) ?? []
      if (taken.length && taken.length + rows.length > loggedRowsPerCommit) break
      taken.push(...rows)
      this.#waiting.delete(account)
    }
    return taken
  }
}

/** Returns the stored rows of an account, newest first. A wallet has no key, so its account takes that place. */
async function readLimitLog(store: Store, account: string): Promise<z.output<typeof RateLimitLog>> {
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

interface Met {
  type: LogLimit['type']
  /** Names the limit if the published types have no word for it. */
  tier?: string
}

/** The limit that a refusal is about, by its kind. Absent if the refusal is not about a limit of the caller. */
const metByKind: Readonly<Record<string, Met>> = {
  RATE_LIMIT_EXCEEDED: { type: 'RPM' },
  RPC_CREDITS_USED: { type: 'RPD' },
  RPC_IN_FLIGHT: { type: 'RPM', tier: 'in_flight' },
  X402_CONCURRENCY_LIMIT: { type: 'RPM', tier: 'in_flight' },
  TOO_MANY_UNREAD_CALLS: { type: 'RPM', tier: 'in_flight' },
  BODIES_FULL: { type: 'RPM', tier: 'body_bytes' },
  FAILED_REQUESTS: { type: 'FAILED_REQUESTS' },
}

/** Returns the row to log for a refused request; null if the refusal is not about a limit. */
export function limitHit(
  principal: Principal,
  demand: LimitedDemand,
  { kind, headers }: ServiceError,
): MetLimit | null {
  const met = metByKind[kind]
  if (!met) return null
  const { operation, model } = demand
  const isGlobal = headers[limitType.name] === 'global'
  const plain = model?.tier ?? principal.plan
  // If requests are left, the window refused because of tokens.
  const isTokens = kind === 'RATE_LIMIT_EXCEEDED' && headers[remainingRequests.name] !== '0'
  return {
    account: principal.account,
    key: principal.kind === 'key' ? principal.keyId : null,
    model: model?.id ?? operation.limit,
    tier: met.tier ?? (isGlobal ? 'global' : plain),
    type: isTokens ? 'TPM' : met.type,
  }
}
