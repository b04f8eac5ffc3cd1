import { type PlanName, planNamed } from '#contract/limits.ts'
import { isAhead } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { groupedRead } from '../store/batching.ts'
import type { Store } from '../store/store.ts'

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
