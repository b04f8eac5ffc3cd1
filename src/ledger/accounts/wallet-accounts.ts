import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '../store/store.ts'
import type { Op } from '../store/units.ts'

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
