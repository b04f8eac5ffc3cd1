import type { LimitName, PlanName, RateLimit, TextTier } from '#contract/limits.ts'
import { type MicroUsd, toUsdNumber } from '#contract/money.ts'
import type { RateLimits } from '#contract/operations/rate-limits.ts'
import { dayMs } from '#contract/time.ts'

export interface LimitedModel {
  id: string
  /** The limit of the operation that runs it: `text`, `video.queue`, … */
  limit: LimitName
  tier: TextTier | null
}

export interface CallerLimits {
  plan: PlanName
  models: readonly LimitedModel[]
  /** What the limiter lets this caller do with a model. */
  limitOf(model: LimitedModel): RateLimit
  availableMicroUsd: MicroUsd
  /** What is left of today's staking credit; null or absent where the service gives none. */
  stakingMicroUsd?: MicroUsd | null
  /** Whether paid calls are open to this caller now. */
  accessPermitted: boolean
  /** Null where it never expires; a wallet never does. */
  keyExpiresAtMs: number | null
  nowMs: number
}

/** The canonical answer about a caller's limits (brief §8.3), made of what the limiter itself goes by. */
export function callerLimits(caller: CallerLimits): RateLimits {
  return {
    data: {
      accessPermitted: caller.accessPermitted,
      apiTier: { id: caller.plan === 'partner' ? 'partner' : 'paid', isCharged: true },
      balances: balancesOf(caller),
      keyExpiration: caller.keyExpiresAtMs === null ? null : new Date(caller.keyExpiresAtMs).toISOString(),
      // An epoch is a day of UTC.
      nextEpochBegins: new Date((Math.floor(caller.nowMs / dayMs) + 1) * dayMs).toISOString(),
      rateLimits: caller.models.map(model => ({
        apiModelId: model.id,
        rateLimits: amountsOf(caller.limitOf(model)),
      })),
    },
  }
}

const balancesOf = ({ availableMicroUsd, stakingMicroUsd = null }: CallerLimits) => ({
  USD: toUsdNumber(availableMicroUsd),
  ...(stakingMicroUsd === null ? {} : { DIEM: toUsdNumber(stakingMicroUsd) }),
})

function amountsOf({ requestsPerMinute, tokensPerMinute }: RateLimit) {
  const requests = { amount: requestsPerMinute, type: 'RPM' as const }
  return tokensPerMinute === undefined ? [requests] : [requests, { amount: tokensPerMinute, type: 'TPM' as const }]
}
