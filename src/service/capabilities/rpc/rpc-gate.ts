import { rpcLimitHeaders } from '#access/limits/limiter.ts'
import { rpcCreditsUsed, rpcInFlight } from '#contract/errors/errors.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import { rpcCredits } from '#contract/operations/rpc.ts'
import { type Clock, dayMs, hourMs } from '#contract/time.ts'
import type { ChainNetwork } from '#engines/ports/engine.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '#ledger/store/store.ts'

export const rpcSku = 'crypto.rpc'

interface Used {
  credits: number
  readAtMs: number
}

/** Limits an account to one call at a time and its credits in 24 hours (published contract §11.4). */
export class RpcGate {
  readonly #store: Store
  readonly #clock: Clock
  readonly #busy = new Set<string>()
  readonly #used = new RecentMap<Used>(countedAccounts)

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Runs a call that costs at most `most` credits and counts what it did cost. Throws 429 `rpcInFlight`, `rpcCreditsUsed`. */
  async pass<Value>(
    account: string,
    most: number,
    run: () => Promise<{ value: Value; credits: number }>,
  ): Promise<Value> {
    const nowMs = this.#clock.now()
    if (this.#busy.has(account)) throw rpcInFlight(retryHeaders(1, nowMs + inFlightRetryMs, nowMs))
    this.#busy.add(account)
    try {
      const used = await this.#usedBy(account, nowMs)
      // Credits leave the count one by one as their day ends; within the hour some have.
      if (used.credits + most > rpcCredits.aDay)
        throw rpcCreditsUsed(retryHeaders(rpcCredits.aDay, nowMs + hourMs, nowMs))
      const { value, credits } = await run()
      used.credits += credits
      return value
    } finally {
      this.#busy.delete(account)
    }
  }

  async #usedBy(account: string, nowMs: number): Promise<Used> {
    const known = this.#used.get(account)
    if (known && nowMs - known.readAtMs < creditsKnownMs) return known
    const rows = await this.#store.read
      .selectFrom('entry')
      .select('units')
      .where('account', '=', account)
      .where('sku', '=', rpcSku)
      .where('created_at_ms', '>', nowMs - dayMs)
      .execute()
    const used = { credits: rows.reduce((sum, { units }) => sum + Number(units ?? 0), 0), readAtMs: nowMs }
    this.#used.set(account, used)
    return used
  }
}

const retryHeaders = (limit: number, untilMs: number, nowMs: number) => ({
  ...retryAfterHeaders(untilMs, nowMs, 'user'),
  ...rpcLimitHeaders({ limit, remaining: 0, resetMs: untilMs }),
})

const slugPattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/** Returns the same networks. Throws when two share a name, or a name cannot be part of a path. */
export function checkNetworks(networks: readonly ChainNetwork[]): readonly ChainNetwork[] {
  if (networks.length > networkCount) throw new Error(`A service has ${networkCount} networks at most.`)
  for (const { slug } of networks) {
    if (!slugPattern.test(slug))
      throw new Error(`${JSON.stringify(slug)} cannot name a network: write it as base-mainnet.`)
  }
  if (new Set(networks.map(({ slug }) => slug)).size < networks.length) throw new Error('Two networks share a name.')
  return networks
}

/** Networks of one service. */
export const networkCount = 100

/** An account's credits are read from the ledger again after this, because other processes charge it too. */
const creditsKnownMs = 60_000

/** Accounts whose credits of the day are remembered. */
const countedAccounts = 10_000

/** When to retry while another call of the account is in flight: nodes answer within a second. */
const inFlightRetryMs = 1_000
