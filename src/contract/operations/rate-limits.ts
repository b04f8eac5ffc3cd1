import { z } from 'zod'
import { callerFailures } from '../errors/failures.ts'
import { answerListOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** The canonical source of a caller's limits (brief §4.3, §8.3). */
export const RateLimits = z
  .strictObject({
    data: z.strictObject({
      accessPermitted: z.boolean(),
      apiTier: z.strictObject({ id: z.string(), isCharged: z.boolean() }),
      balances: z.strictObject({ USD: z.number().optional(), DIEM: z.number().optional() }),
      keyExpiration: z.string().nullable(),
      nextEpochBegins: z.string(),
      rateLimits: answerListOf(
        z.strictObject({
          apiModelId: z.string().optional(),
          rateLimits: answerListOf(z.strictObject({ amount: z.number(), type: z.enum(['RPM', 'RPD', 'TPM']) })),
        }),
      ),
    }),
  })
  .meta({ id: 'RateLimits' })
export type RateLimits = z.output<typeof RateLimits>

export const getRateLimits = defineOperation({
  id: 'getApiKeyRateLimits',
  method: 'GET',
  path: '/api_keys/rate_limits',
  tag: 'API Keys',
  summary: 'Limits and balances of the caller',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'read',
  request: {},
  answer: { json: RateLimits },
  failures: callerFailures,
})

export const RateLimitLog = z
  .strictObject({
    object: z.literal('list'),
    data: answerListOf(
      z.strictObject({
        apiKeyId: z.string(),
        modelId: z.string(),
        rateLimitTier: z.string(),
        rateLimitType: z.string(),
        timestamp: z.string(),
      }),
    ),
  })
  .meta({ id: 'RateLimitLog' })

export const getRateLimitLog = defineOperation({
  id: 'getApiKeyRateLimitLogs',
  method: 'GET',
  path: '/api_keys/rate_limit_logs',
  aliasPath: '/api_keys/rate_limits/log',
  tag: 'API Keys',
  summary: 'The caller’s latest requests that hit a limit',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'read',
  request: {},
  answer: { json: RateLimitLog },
  failures: callerFailures,
})
