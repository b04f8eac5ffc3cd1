import { getRateLimitLog } from '#contract/rate-limits.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const getRateLimitLogRoute = route(getRateLimitLog, async (call, service) =>
  json(await service.limitLog.read(principalOf(call).account)),
)
