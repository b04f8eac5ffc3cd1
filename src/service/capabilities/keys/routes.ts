import type { ApiKeyRecord } from '#access/keys/api-keys.ts'
import { changeKeyFor, createKeyFor, ownKey, revokeKeyFor } from '#access/keys/key-acts.ts'
import { createdKey } from '#access/keys/key-order.ts'
import { keyUses, shownKey } from '#access/keys/shown-key.ts'
import { callerLimits, type ListedModel, limitFor } from '#access/limits/limit-rules.ts'
import { admissionFloorUsd } from '#contract/limits.ts'
import { addUsd, toUsdNumber } from '#contract/money.ts'
import {
  type ChangedKey,
  createKey,
  createWeb3Key,
  deleteKey,
  getKey,
  getWeb3Token,
  listKeys,
  updateKey,
} from '#contract/operations/keys.ts'
import { getRateLimitLog, getRateLimits, type RateLimits } from '#contract/operations/rate-limits.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'
import { json, principalOf, route } from '../../http/route.ts'
import type { Service } from '../../http/service.ts'
import type { Model } from '../../models/model.ts'

export const listKeysRoute = route(listKeys, async (call, { keys, store, clock }) => {
  const { account } = principalOf(call)
  const kept = await keys.kept(account)
  const usesOf = await keyUses(store, { account }, clock.now())
  return json({ object: 'list', data: kept.map(key => shownKey(key, usesOf(key))) })
})

export const createKeyRoute = route(createKey, async (call, service) =>
  json(createdKey(await createKeyFor(service, principalOf(call), call.body, call.signal))),
)

export const getKeyRoute = route(getKey, async (call, service) => {
  const key = await ownKey(service, principalOf(call).account, call.params.id)
  return json({ data: await withUse(service, key) })
})

async function withUse({ store, clock }: Pick<Service, 'store' | 'clock'>, key: ApiKeyRecord) {
  const usesOf = await keyUses(store, { account: key.account, id: key.id }, clock.now())
  return shownKey(key, usesOf(key))
}

export const updateKeyRoute = route(updateKey, async (call, service) => {
  const principal = principalOf(call)
  const { account } = principal
  await changeKeyFor(service, principal, call.body, call.signal)
  const shown = await withUse(service, await ownKey(service, account, call.body.id))
  const { usage: _usage, currentPeriodUsage: _current, ...data } = shown
  return json({ success: true, data: data satisfies ChangedKey })
})

export const deleteKeyRoute = route(deleteKey, async (call, service) => {
  await revokeKeyFor(service, principalOf(call), call.query.id)
  return json({ success: true })
})

export const getWeb3TokenRoute = route(getWeb3Token, async (_call, { web3Keys }) =>
  json({ success: true, data: { token: web3Keys.token() } }),
)

export const createWeb3KeyRoute = route(createWeb3Key, async (call, { web3Keys }) =>
  json(createdKey(await web3Keys.create(call.body))),
)

export const getRateLimitsRoute = route(getRateLimits, async (call, service) =>
  json(await rateLimitsOf(principalOf(call), service)),
)

type LimitParts = Pick<Service, 'funding' | 'settings' | 'catalogue' | 'store' | 'clock'>

/** The caller's current access, with its limits by model. */
export async function rateLimitsOf(principal: Principal, service: LimitParts): Promise<RateLimits> {
  // A key with a budget sees only the part of the account's credit that it may spend.
  const { staking, within } = await service.funding.spendable(principal)
  const credit = addUsd(within.usd, within.staking)
  const floorUsd = principal.kind === 'wallet' ? admissionFloorUsd : 0
  return callerLimits({
    plan: principal.plan,
    limitOf: ({ id: model, limit, tier }) =>
      limitFor({ limit, model, tier, principal, address: '' }, service.settings.limits),
    models: service.catalogue.models.map(limitedModel),
    availableMicroUsd: within.usd,
    stakingMicroUsd: staking === null ? null : within.staking,
    accessPermitted: credit > 0n && toUsdNumber(credit) >= floorUsd,
    keyExpiresAtMs: principal.kind === 'key' ? await keyExpiry(service.store, principal.keyId) : null,
    nowMs: service.clock.now(),
  })
}

/** The limit of the operation that runs models of each type. */
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

const limitedModel = (model: Model): ListedModel => ({
  id: model.id,
  limit: limitOfType[model.type],
  tier: model.type === 'text' ? model.tier : null,
})

async function keyExpiry(store: Store, keyId: string): Promise<number | null> {
  const row = await store.read.selectFrom('api_key').select('expires_at_ms').where('id', '=', keyId).executeTakeFirst()
  return row?.expires_at_ms ?? null
}

export const getRateLimitLogRoute = route(getRateLimitLog, async (call, service) =>
  json(await service.limitLog.read(principalOf(call).account)),
)
