import { RecentMap } from '#host/recent-map.ts'
import { balanceKnownForMs, knownRowsMost } from '../bounds.ts'
import type { Balance, KnownBalances, Outcome } from './store.ts'

interface Known {
  balance: Balance
  atMs: number
}

/**
 * What accounts have, as the outcomes of this process's own units left it: almost every request reads a balance, and the
 * last request of its account has just told it. Only for a store that nobody else writes to.
 */
export class LearntBalances implements KnownBalances {
  readonly #known = new RecentMap<Known>(knownRowsMost)
  #changes = 0

  get(account: string): Balance | undefined {
    const known = this.#known.get(account)
    return known && performance.now() - known.atMs <= balanceKnownForMs ? known.balance : undefined
  }

  /** To be called in the order of the commits. The first outcome of a unit that came again is no news. */
  learn(outcome: Outcome): void {
    if (!outcome.ok || outcome.again) return
    this.#changes++
    for (const balance of outcome.balances) this.#keep(balance)
  }

  /** What was read is not kept where an outcome came meanwhile, which may be newer. */
  async read(readNow: () => Promise<Balance | null>): Promise<Balance | null> {
    const before = this.#changes
    const balance = await readNow()
    if (balance && before === this.#changes) this.#keep(balance)
    return balance
  }

  #keep(balance: Balance): void {
    this.#known.set(balance.account, { balance, atMs: performance.now() })
  }
}
