import {
  type LimitName,
  otherLimits,
  type PlanName,
  type RateLimit,
  type TextTier,
  textLimits,
} from '#contract/limits.ts'
import type { Principal } from '../identity/principal.ts'
import type { LimitDimension } from './limit-store.ts'

/** What the operator sets beyond the plans: the same limits counted by key, or over all callers together. */
export interface ExtraLimits {
  apiKey?: Partial<Record<LimitName, RateLimit>>
  global?: Partial<Record<LimitName, RateLimit>>
}

export interface LimitedRequest {
  limit: LimitName
  /** The canonical id, without options and in its own case, so that no spelling opens another count; null where there is none. */
  model: string | null
  /** Null for everything but a text model. */
  tier: TextTier | null
  /** Null where anybody may call. */
  principal: Principal | null
  /** Of `addressSubject`; counts for whoever did not identify themselves. */
  address: string
}

/** The limit of a plan (brief §8.1–§8.3). A text request without a tier gets the strictest one. */
export const limitOf = (plan: PlanName, limit: LimitName, tier: TextTier | null): RateLimit =>
  limit === 'text' ? textLimits[plan][tier ?? 'L'] : otherLimits[plan][limit]

/** The counts that a request must fit into: its account's, its key's, everybody's. */
export function limitDimensions(request: LimitedRequest, extra: ExtraLimits = {}): LimitDimension[] {
  const { limit, tier, principal } = request
  const what = `${limit}:${request.model ?? ''}`
  const who = principal ? `account:${principal.account}` : `address:${request.address}`
  const plan = principal?.plan ?? 'default'
  const dimensions: LimitDimension[] = [{ key: `${who}:${what}`, type: 'user', ...limitOf(plan, limit, tier) }]
  const byKey = extra.apiKey?.[limit]
  if (byKey && principal?.kind === 'key') {
    dimensions.push({ key: `key:${principal.keyId}:${what}`, type: 'api_key', ...byKey })
  }
  const global = extra.global?.[limit]
  if (global) dimensions.push({ key: `global:${what}`, type: 'global', ...global })
  return dimensions
}
