import { microUsd } from '#contract/money.ts'
import type { ApiKeys } from './identity/api-keys.ts'
import type { Store } from './store/store.ts'
import type { Op } from './store/units.ts'
import { uuidV7 } from './store/uuid-v7.ts'

/** More than this at once is a slip of the hand. */
export const mostGrantUsd = 1_000_000

export interface KeyOrder {
  /** Credit that the new account starts with; zero for none. */
  amountMicroUsd: bigint
  label: string
}

export interface NewCustomerKey {
  key: string
  keyId: string
  account: string
}

/** A new customer's account, its first credit as a grant, and a key. The account is there before the key that opens it. */
export async function createKey(
  service: { store: Store; keys: ApiKeys; now: () => number },
  order: KeyOrder,
): Promise<NewCustomerKey> {
  const atMs = service.now()
  const account = `customer:${uuidV7(atMs)}`
  const ops: Op[] = [{ op: 'account', account, kind: 'customer', atMs }]
  if (order.amountMicroUsd > 0n) {
    const amount = microUsd(order.amountMicroUsd)
    ops.push({ op: 'credit', account, amount, source: 'system:grant', ref: `grant:${account}`, atMs })
  }
  const [outcome] = await service.store.commit([{ id: `${uuidV7(atMs)}/account`, ops }])
  if (!outcome?.ok) throw new Error(`The store refused a new account: ${outcome?.why ?? 'no outcome'}.`)
  const created = await service.keys.create({ account, label: order.label, expiresAtMs: null })
  return { key: created.secret, keyId: created.id, account }
}
