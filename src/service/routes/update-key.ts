import { type ChangedKey, type UpdateKeyRequest, updateKey } from '#contract/api-keys.ts'
import { json, principalOf } from '../call.ts'
import type { Principal } from '../callers/principal.ts'
import { hasLimit, requireNoRaise } from '../identity/budget-rules.ts'
import { keyChange, keyMoved } from '../identity/key-order.ts'
import { route } from '../route.ts'
import type { Service } from '../service.ts'
import { ownKey, withUse } from './get-key.ts'

export const updateKeyRoute = route(updateKey, async (call, service) => {
  const principal = principalOf(call)
  const { account } = principal
  while (!(await changed(service, principal, call.body))) call.signal.throwIfAborted()
  const shown = await withUse(service, await ownKey(service, account, call.body.id))
  const { usage: _usage, currentPeriodUsage: _current, ...data } = shown
  return json({ success: true, data: data satisfies ChangedKey })
})

/** False where another change came between, which is then a part of what this one changes. */
async function changed(service: Service, principal: Principal, request: UpdateKeyRequest): Promise<boolean> {
  const { account } = principal
  const key = await ownKey(service, account, request.id)
  const { budget, more } = keyChange(key, request, service.clock.now())
  if (principal.kind === 'key' && hasLimit((await ownKey(service, account, principal.keyId)).budget))
    requireNoRaise(key.budget, budget)
  try {
    await service.keys.setBudget(key.id, budget, more)
    return true
  } catch (error) {
    if (keyMoved(error)) return false
    throw error
  }
}
