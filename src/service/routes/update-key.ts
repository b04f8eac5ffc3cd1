import { type ChangedKey, updateKey } from '#contract/api-keys.ts'
import { json, principalOf } from '../call.ts'
import { keyChange } from '../identity/key-order.ts'
import { route } from '../route.ts'
import { ownKey, withUse } from './get-key.ts'

export const updateKeyRoute = route(updateKey, async (call, service) => {
  const { account } = principalOf(call)
  const key = await ownKey(service, account, call.body.id)
  const { budget, more } = keyChange(key, call.body, service.clock.now())
  await service.keys.setBudget(key.id, budget, more)
  const shown = await withUse(service, await ownKey(service, account, key.id))
  const { usage: _usage, currentPeriodUsage: _current, ...data } = shown
  return json({ success: true, data: data satisfies ChangedKey })
})
