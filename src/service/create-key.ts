import { microUsd } from '#contract/money.ts'
import { type ApiKeys, KeyRefused } from './identity/api-keys.ts'
import type { Store } from './store/store.ts'
import type { KeyBudget, Op } from './store/units.ts'
import { uuidV7 } from './store/uuid-v7.ts'

/** More than this at once is a slip of the hand. */
export const mostGrantUsd = 1_000_000

export interface KeyOrder {
  /** Credit that the account is given; zero for none. */
  amountMicroUsd: bigint
  label: string
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
 * A key, of a new customer where the order names none, with its credit as a grant. The account is there before the key
 * that opens it. Throws `KeyRefused` where the account that was named does not exist, `WrongSecret` where the books expect
 * another secret.
 */
export async function createKey(
  service: { store: Store; keys: ApiKeys; now: () => number },
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
  if (ops.length) {
    const [outcome] = await service.store.commit([{ id: `${uuidV7(atMs)}/account`, ops }])
    if (!outcome?.ok) throw new KeyRefused(outcome?.why ?? 'invalid')
  }
  const { label, budget = null } = order
  const created = await service.keys.create({ account, label, expiresAtMs: null, budget })
  return { key: created.secret, keyId: created.id, account }
}
