import { RecentMap } from '#host/recent-map.ts'
import { balanceKnownForMs, knownRowsMost } from '../bounds.ts'
import type { Balance, KnownBalances, Outcome } from './store.ts'

interface Known {
  balance: Balance
  atMs: number
}

/**
 * Balances as this process's own units left them. Almost every request reads a balance that its account's previous
 * request has just reported. Only for a store to which no other process writes.
 */
export class LearntBalances implements KnownBalances {
  readonly #known = new RecentMap<Known>(knownRowsMost)
  #changes = 0

  get(account: string): Balance | undefined {
    const known = this.#known.get(account)
    return known && performance.now() - known.atMs <= balanceKnownForMs ? known.balance : undefined
  }

  /** Must be called in the order of the commits. The first outcome of a repeated unit is old, so it changes nothing. */
  learn(outcome: Outcome): void {
    if (!outcome.ok || outcome.again) return
    this.#changes++
    for (const balance of outcome.balances) this.#keep(balance)
  }

  /** Call this after rows were written other than by units. */
  forget(): void {
    this.#changes++
    this.#known.clear()
  }

  /** A read is not cached if an outcome arrived in the meantime, because the outcome may be newer. */
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
