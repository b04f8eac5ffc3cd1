import { z } from 'zod'
import { otherLimitNames } from '#contract/limits.ts'
import { requestsPerMinute, tokensPerMinute } from './bounds.ts'

/** Limits beside those of the plan; see `LimitSettings`. */

const Requests = z.number().int().min(0).max(requestsPerMinute)
const Tokens = z.number().int().min(0).max(tokensPerMinute)

const Change = z.strictObject({ requestsPerMinute: Requests.optional(), tokensPerMinute: Tokens.optional() })
const Count = z.strictObject({ requestsPerMinute: Requests, tokensPerMinute: Tokens.optional() })

const LimitName = z.enum(['text', ...otherLimitNames])
const changes = {
  types: z.partialRecord(LimitName, Change).optional(),
  models: z.record(z.string().min(1), Change).optional(),
}
const counts = z.partialRecord(LimitName, Count).optional()

export const LimitConfig = z.strictObject({
  ...changes,
  accounts: z
    .record(z.string().min(1), z.strictObject({ plan: z.enum(['default', 'partner']).optional(), ...changes }))
    .optional(),
  apiKey: counts,
  global: counts,
})
