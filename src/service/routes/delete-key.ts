import { deleteKey } from '#contract/api-keys.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'
import { ownKey } from './get-key.ts'

export const deleteKeyRoute = route(deleteKey, async (call, service) => {
  const key = await ownKey(service, principalOf(call).account, call.query.id)
  await service.keys.revoke(key.id)
  return json({ success: true })
})
