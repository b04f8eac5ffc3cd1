import { listKeys } from '#contract/api-keys.ts'
import { json, principalOf } from '../call.ts'
import { keyUses } from '../identity/key-uses.ts'
import { shownKey } from '../identity/shown-key.ts'
import { route } from '../route.ts'

export const listKeysRoute = route(listKeys, async (call, { keys, store, clock }) => {
  const { account } = principalOf(call)
  const kept = await keys.kept(account)
  const usesOf = await keyUses(store, { account }, clock.now())
  return json({ object: 'list', data: kept.map(key => shownKey(key, usesOf(key))) })
})
