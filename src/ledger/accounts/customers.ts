import { type PlanName, planNamed } from '#contract/limits.ts'
import { isAhead } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { groupedRead } from '../store/batching.ts'
import type { Store } from '../store/store.ts'
import type { Op } from '../store/units.ts'

/** Reads from the database whether an operator has suspended this account. False if the account does not exist. */
export async function isSuspended({ read }: Pick<Store, 'read'>, account: string): Promise<boolean> {
  const row = await read.selectFrom('account').select('suspended_at_ms').where('id', '=', account).executeTakeFirst()
  return row !== undefined && row.suspended_at_ms !== null
}

const planRow = groupedRead(
  (read, accounts) => read.selectFrom('customer').select(['account', 'plan']).where('account', 'in', accounts),
  row => row.account,
)

/** The plans that operators chose for accounts, cached for `planCacheMs`. */
export class CustomerPlans {
  readonly #store: Pick<Store, 'read'>
  readonly #known = new RecentMap<{ plan: PlanName | null; untilMs: number }>(cachedPlans)

  constructor(store: Pick<Store, 'read'>) {
    this.#store = store
  }

  /** Null if the configuration decides. */
  async of(account: string, nowMs: number): Promise<PlanName | null> {
    const known = this.#known.get(account)
    if (known && isAhead(known.untilMs, planCacheMs, nowMs)) return known.plan
    const plan = planNamed((await planRow(this.#store.read, account))?.plan)
    this.#known.set(account, { plan, untilMs: nowMs + planCacheMs })
    return plan
  }
}

/** A changed plan may take this long to apply to a wallet. */
const planCacheMs = 5_000

/** Accounts whose plan is remembered, some 2 MB. */
const cachedPlans = 10_000

/** The account that a wallet gets with its first top-up; until then its sign-ins use a name that has no row. */
export const walletAccountId = (wallet: string): string => `wallet:${wallet}`

/** Opens that account and links the wallet to it; changes nothing if both exist. The wallet is normalized. */
export const openWalletAccount = (wallet: string, atMs: number): Op[] => [
  { op: 'account', account: walletAccountId(wallet), kind: 'wallet', atMs },
  { op: 'wallet', wallet, account: walletAccountId(wallet), atMs },
]

/** Finds a wallet's account. A link is permanent, so it is cached. */
export class WalletAccounts {
  readonly #store: Store
  readonly #known = new RecentMap<string>(cachedWallets)

  constructor(store: Store) {
    this.#store = store
  }

  /** Returns null if the wallet is new here. */
  async find(wallet: string): Promise<string | null> {
    const known = this.#known.get(wallet)
    if (known !== undefined) return known
    const row = await this.#store.read
      .selectFrom('wallet')
      .select('account')
      .where('id', '=', wallet)
      .executeTakeFirst()
    if (!row) return null
    this.#known.set(wallet, row.account)
    return row.account
  }
}

/** Cached wallets: links are permanent, so this only limits memory (some 20 MB). */
const cachedWallets = 50_000
