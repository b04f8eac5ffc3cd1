import { admissionFloorUsd } from '#contract/limits.ts'
import { addUsd, toUsdNumber } from '#contract/money.ts'
import { getRateLimits } from '#contract/rate-limits.ts'
import { json, principalOf } from '../call.ts'
import { callerLimits, type LimitedModel } from '../limits/caller-limits.ts'
import { limitFor } from '../limits/limit-rules.ts'
import type { Model } from '../models/model.ts'
import { route } from '../route.ts'
import type { Store } from '../store/store.ts'

export const getRateLimitsRoute = route(getRateLimits, async (call, service) => {
  const principal = principalOf(call)
  // Of the account's credit a key shows what its own budget lets it spend.
  const { staking, within } = await service.funding.spendable(principal)
  const credit = addUsd(within.usd, within.staking)
  const floorUsd = principal.kind === 'wallet' ? admissionFloorUsd : 0
  return json(
    callerLimits({
      plan: principal.plan,
      limitOf: ({ id: model, limit, tier }) =>
        limitFor({ limit, model, tier, principal, address: '' }, service.settings.limits),
      models: service.catalogue.models.map(limitedModel),
      availableMicroUsd: within.usd,
      stakingMicroUsd: staking === null ? null : within.staking,
      accessPermitted: credit > 0n && toUsdNumber(credit) >= floorUsd,
      keyExpiresAtMs: principal.kind === 'key' ? await keyExpiry(service.store, principal.keyId) : null,
      nowMs: service.clock.now(),
    }),
  )
})

/** The limit of the operation that runs models of a type. */
const limitOfType = {
  text: 'text',
  embedding: 'embedding',
  image: 'image',
  inpaint: 'image',
  upscale: 'image',
  background: 'image',
  tts: 'audio',
  asr: 'audio',
  music: 'audio.queue',
  video: 'video.queue',
} as const

const limitedModel = (model: Model): LimitedModel => ({
  id: model.id,
  limit: limitOfType[model.type],
  tier: model.type === 'text' ? model.tier : null,
})

async function keyExpiry(store: Store, keyId: string): Promise<number | null> {
  const row = await store.read.selectFrom('api_key').select('expires_at_ms').where('id', '=', keyId).executeTakeFirst()
  return row?.expires_at_ms ?? null
}
