import { expect, test } from 'vitest'
import { type CallerLimits, callerLimits, limitOf } from '#access/limits/limit-rules.ts'
import { microUsd } from '#contract/money.ts'
import { RateLimits } from '#contract/operations/rate-limits.ts'
import { noonMs } from './manual-clock.ts'

const caller: CallerLimits = {
  limitOf: ({ limit, tier }) => limitOf('default', limit, tier),
  plan: 'default',
  models: [
    { id: 'small', limit: 'text', tier: 'S' },
    { id: 'film', limit: 'video.queue', tier: null },
  ],
  availableMicroUsd: microUsd(50_230_000),
  accessPermitted: true,
  keyExpiresAtMs: null,
  nowMs: noonMs,
}

test('§8.3: the limits of every model, as the limiter goes by them', () => {
  expect(RateLimits.parse(callerLimits(caller))).toEqual({
    data: {
      accessPermitted: true,
      apiTier: { id: 'paid', isCharged: true },
      balances: { USD: 50.23 },
      keyExpiration: null,
      nextEpochBegins: '2026-03-02T00:00:00.000Z',
      rateLimits: [
        {
          apiModelId: 'small',
          rateLimits: [
            { amount: 75, type: 'RPM' },
            { amount: 750_000, type: 'TPM' },
          ],
        },
        { apiModelId: 'film', rateLimits: [{ amount: 40, type: 'RPM' }] },
      ],
    },
  })
})

test('a partner with a key that expires', () => {
  const { data } = RateLimits.parse(
    callerLimits({
      ...caller,
      plan: 'partner',
      limitOf: ({ limit, tier }) => limitOf('partner', limit, tier),
      keyExpiresAtMs: noonMs,
    }),
  )
  expect(data.apiTier.id).toBe('partner')
  expect(data.keyExpiration).toBe('2026-03-01T12:00:00.000Z')
  expect(data.rateLimits[0]?.rateLimits[0]).toEqual({ amount: 150, type: 'RPM' })
})
