import { createKey } from '#contract/api-keys.ts'
import { json, principalOf } from '../call.ts'
import { createWithin } from '../identity/budget-rules.ts'
import { createdKey, keyOrder, tooManyKeys } from '../identity/key-order.ts'
import { route } from '../route.ts'

export const createKeyRoute = route(createKey, async (call, service) => {
  const principal = principalOf(call)
  const order = keyOrder(principal.account, call.body, service.clock.now())
  await service.keys.requireSecret()
  const making = principal.kind === 'key' ? createWithin(service, principal.keyId, order) : service.keys.create(order)
  const created = await making.catch(error => {
    throw tooManyKeys(error) ?? error
  })
  return json(createdKey(created))
})
