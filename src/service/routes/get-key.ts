import { getKey } from '#contract/api-keys.ts'
import { keyNotFound } from '#contract/errors.ts'
import { json, principalOf } from '../call.ts'
import type { ApiKeyRecord } from '../identity/api-keys.ts'
import { keyUses } from '../identity/key-uses.ts'
import { shownKey } from '../identity/shown-key.ts'
import { route } from '../route.ts'
import type { Service } from '../service.ts'

export const getKeyRoute = route(getKey, async (call, service) => {
  const key = await ownKey(service, principalOf(call).account, call.params.id)
  return json({ data: await withUse(service, key) })
})

/** A key of this account. Throws 404 for one that was deleted, and for somebody else's. */
export async function ownKey({ keys }: Pick<Service, 'keys'>, account: string, id: string): Promise<ApiKeyRecord> {
  const key = await keys.keptOne(account, id)
  if (!key) throw keyNotFound()
  return key
}

export async function withUse({ store, clock }: Pick<Service, 'store' | 'clock'>, key: ApiKeyRecord) {
  const usesOf = await keyUses(store, { account: key.account, id: key.id }, clock.now())
  return shownKey(key, usesOf(key))
}
