import type { LimitName, PlanName, RateLimit } from '#contract/limits.ts'

/** A member that is absent is as it was. */
export interface LimitChange {
  requestsPerMinute?: number | undefined
  tokensPerMinute?: number | undefined
}

type ByType<Value> = Partial<Record<LimitName, Value | undefined>>
type ByModel = Readonly<Record<string, LimitChange>>

/** What an operator sets for one account. */
export interface AccountLimits {
  plan?: PlanName | undefined
  types?: ByType<LimitChange> | undefined
  models?: ByModel | undefined
}

/**
 * What an operator sets beside the plans. Of an account the nearest counts: its own model, its own type, its own plan; then
 * the model, the type and the plan of everybody. `apiKey` and `global` are counts of their own, which a request has to fit
 * into besides: of one key, and of all callers together.
 */
export interface LimitSettings {
  types?: ByType<LimitChange> | undefined
  models?: ByModel | undefined
  accounts?: Readonly<Record<string, AccountLimits>> | undefined
  apiKey?: ByType<RateLimit> | undefined
  global?: ByType<RateLimit> | undefined
}

export const accountLimits = (settings: LimitSettings, account: string): AccountLimits | undefined =>
  ownOf(settings.accounts, account)

/** The plan of an account: its own, or everybody's. */
export const planOf = (settings: LimitSettings | undefined, account: string, plan: PlanName): PlanName =>
  (settings && accountLimits(settings, account)?.plan) ?? plan

/** What of a plan's limit an operator changed for this account and model; nothing where there is no such setting. */
export function limitChange(
  settings: LimitSettings,
  { account, limit, model }: { account: string | null; limit: LimitName; model: string | null },
): LimitChange {
  const own = account === null ? undefined : accountLimits(settings, account)
  const [ownModel, anyModel] = model === null ? [] : [ownOf(own?.models, model), ownOf(settings.models, model)]
  const change = ownModel ?? own?.types?.[limit]
  if (change) return change
  return own?.plan ? {} : (anyModel ?? settings.types?.[limit] ?? {})
}

/** A caller chooses some of these names; what every object has is none of them. */
const ownOf = <Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined =>
  record && Object.hasOwn(record, name) ? record[name] : undefined
