import { microUsd } from '#contract/money.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { ApiKeys } from './api-keys.ts'

/** More than this at once is a slip of the hand. */
export const mostGrantUsd = 1_000_000

export interface KeyOrder {
  /** Credit that the account is given; zero for none. */
  amountMicroUsd: bigint
  label: string
  /** `INFERENCE` where absent; an `ADMIN` key makes and ends keys of its account over the API, and reads its bills. */
  role?: KeyRole
  /** Another key of this account; absent for a new customer. */
  account?: string
  /** What this key may spend of its account's credit; all of it where absent. */
  budget?: KeyBudget
}

export interface NewCustomerKey {
  key: string
  keyId: string
  account: string
}

/**
 * A key, of a new customer where the order names none, with its credit as a grant: all of it in one unit, so that whoever
 * repeats an order that failed gives no credit twice. Throws `KeyRefused` where the account that was named does not exist, `WrongSecret` where the books expect
 * another secret.
 */
export async function createKey(
  service: { keys: ApiKeys; now: () => number },
  order: KeyOrder,
): Promise<NewCustomerKey> {
  await service.keys.requireSecret()
  const atMs = service.now()
  const account = order.account ?? `customer:${uuidV7(atMs)}`
  const ops: Op[] = order.account === undefined ? [{ op: 'account', account, kind: 'customer', atMs }] : []
  if (order.amountMicroUsd > 0n) {
    const amount = microUsd(order.amountMicroUsd)
    ops.push({ op: 'credit', account, amount, source: 'system:grant', ref: `grant:${uuidV7(atMs)}`, atMs })
  }
  const { label, role = 'INFERENCE', budget = null } = order
  const created = await service.keys.create({ account, label, role, expiresAtMs: null, budget, opening: ops })
  return { key: created.secret, keyId: created.id, account }
}
