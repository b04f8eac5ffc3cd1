import { createKey } from '#contract/api-keys.ts'
import { json, principalOf } from '../call.ts'
import { createdKey, keyOrder, tooManyKeys } from '../identity/key-order.ts'
import { route } from '../route.ts'

export const createKeyRoute = route(createKey, async (call, { keys, clock }) => {
  const order = keyOrder(principalOf(call).account, call.body, clock.now())
  await keys.requireSecret()
  const created = await keys.create(order).catch(error => {
    throw tooManyKeys(error) ?? error
  })
  return json(createdKey(created))
})
