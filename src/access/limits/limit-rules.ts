import {
  type CountedFor,
  type LimitName,
  otherLimits,
  type PlanName,
  type RateLimit,
  type TextTier,
  textLimits,
} from '#contract/limits.ts'
import type { Operation } from '#contract/operations/operation.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { type LimitSettings, limitChange } from './limit-settings.ts'
import type { LimitDimension } from './limit-store.ts'

export interface LimitedRequest {
  limit: LimitName
  /** The canonical id, without options and in its own case, so that no spelling opens another count; null where there is none. */
  model: string | null
  /** Null for everything but a text model. */
  tier: TextTier | null
  /** Null where anybody may call. */
  principal: Principal | null
  /** Counts for whoever did not identify themselves: an `addressSubject`, or the payer of a payment that was verified. */
  address: string
}

/** The limit of a plan (brief §8.1–§8.3). A text request without a tier gets the strictest one. */
export const limitOf = (plan: PlanName, limit: LimitName, tier: TextTier | null): RateLimit =>
  limit === 'text' ? textLimits[plan][tier ?? 'L'] : otherLimits[plan][limit]

/** What a caller may, by the plan and what the operator changed of it. */
function userLimit({ principal, limit, model, tier }: LimitedRequest, settings: LimitSettings): RateLimit {
  const planned = limitOf(principal?.plan ?? 'default', limit, tier)
  const change = limitChange(settings, { account: principal?.account ?? null, limit, model })
  const tokens = change.tokensPerMinute ?? planned.tokensPerMinute
  return {
    requestsPerMinute: change.requestsPerMinute ?? planned.requestsPerMinute,
    ...(tokens === undefined ? {} : { tokensPerMinute: tokens }),
  }
}

/** The counts that a request must fit into: its account's, its key's, everybody's. */
export function limitDimensions(request: LimitedRequest, extra: LimitSettings = {}): LimitDimension[] {
  const { limit, principal } = request
  const what = `${limit}:${request.model ?? ''}`
  const who = principal ? `account:${principal.account}` : `address:${request.address}`
  const dimensions: LimitDimension[] = [{ key: `${who}:${what}`, type: 'user', ...userLimit(request, extra) }]
  const byKey = extra.apiKey?.[limit]
  if (byKey && principal?.kind === 'key') {
    dimensions.push({ key: `key:${principal.keyId}:${what}`, type: 'api_key', ...byKey })
  }
  const global = extra.global?.[limit]
  if (global) dimensions.push({ key: `global:${what}`, type: 'global', ...global })
  return dimensions
}

/** The tightest of those counts: what a caller who is alone gets through in a minute. */
export function limitFor(request: LimitedRequest, settings: LimitSettings = {}): RateLimit {
  const dimensions = limitDimensions(request, settings)
  const tokens = dimensions.flatMap(({ tokensPerMinute }) => tokensPerMinute ?? [])
  return {
    requestsPerMinute: Math.min(...dimensions.map(({ requestsPerMinute }) => requestsPerMinute)),
    ...(tokens.length > 0 ? { tokensPerMinute: Math.min(...tokens) } : {}),
  }
}

/** What decides the limits of a model; only text models have a tier. */
export interface LimitedModel {
  id: string
  tier?: TextTier
}

export interface LimitedDemand {
  operation: Operation
  /** Whose tier applies; null where the operation has no model, or the request names none that is there. */
  model: LimitedModel | null
  /** Refused before its body was read, which names the model. */
  isUnread?: boolean
  /** Its address where absent. */
  countedFor?: CountedFor
}
