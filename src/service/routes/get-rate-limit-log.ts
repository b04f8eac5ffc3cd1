import { getRateLimitLog } from '#contract/rate-limits.ts'
import { json, principalOf } from '../call.ts'
import { readLimitLog } from '../limits/limit-log.ts'
import { route } from '../route.ts'

export const getRateLimitLogRoute = route(getRateLimitLog, async (call, service) =>
  json(await readLimitLog(service.store, principalOf(call).account)),
)
