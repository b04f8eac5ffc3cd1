import {
  type CountedFor,
  type LimitName,
  otherLimits,
  type PlanName,
  type RateLimit,
  type TextTier,
  textLimits,
} from '#contract/limits.ts'
import { type MicroUsd, toUsdNumber } from '#contract/money.ts'
import type { Operation } from '#contract/operations/operation.ts'
import type { RateLimits } from '#contract/operations/rate-limits.ts'
import { dayMs } from '#contract/time.ts'
import type { LimitType } from '#contract/wire/headers.ts'
import { hasAccount, type Principal } from '#ledger/accounts/principal.ts'

/** A count that a request must fit into. */
export interface LimitDimension extends RateLimit {
  /** Identifies the counter: whose requests it counts, and which. */
  key: string
  type: LimitType
}

/** An absent member keeps the plan's limit. */
interface LimitChange {
  requestsPerMinute?: number | undefined
  tokensPerMinute?: number | undefined
}

type ByType<Value> = Partial<Record<LimitName, Value | undefined>>
type ByModel = Readonly<Record<string, LimitChange>>

/** What an operator configures for one account. */
export interface AccountLimits {
  plan?: PlanName | undefined
  types?: ByType<LimitChange> | undefined
  models?: ByModel | undefined
}

/**
 * What an operator configures in addition to the plans. The most specific setting wins: the account's model, type and
 * plan, then the model, type and plan for all accounts. `apiKey` and `global` are separate counts that a request must
 * also fit into: per key, and over all callers.
 */
export interface LimitSettings {
  types?: ByType<LimitChange> | undefined
  models?: ByModel | undefined
  accounts?: Readonly<Record<string, AccountLimits>> | undefined
  apiKey?: ByType<RateLimit> | undefined
  global?: ByType<RateLimit> | undefined
}

const accountLimits = (settings: LimitSettings, account: string): AccountLimits | undefined =>
  ownOf(settings.accounts, account)

/** Returns an account's own plan, or the default one. */
export const planOf = (settings: LimitSettings | undefined, account: string, plan: PlanName): PlanName =>
  (settings && accountLimits(settings, account)?.plan) ?? plan

/** Returns an operator's change of the plan's limit for this account and model; undefined if there is none. */
function limitChange(
  settings: LimitSettings,
  { principal, limit, model }: Pick<LimitedRequest, 'principal' | 'limit' | 'model'>,
): LimitChange {
  const account = principal?.account ?? null
  const own = account === null ? undefined : accountLimits(settings, account)
  const [ownModel, anyModel] = model === null ? [] : [ownOf(own?.models, model), ownOf(settings.models, model)]
  const change = ownModel ?? own?.types?.[limit]
  if (change) return change
  return own?.plan || principal?.hasOwnPlan ? {} : (anyModel ?? settings.types?.[limit] ?? {})
}

/** Callers choose some of these names, so inherited object members must not match. */
const ownOf = <Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined =>
  record && Object.hasOwn(record, name) ? record[name] : undefined

export interface LimitedRequest {
  limit: LimitName
  /**
   * The canonical id, without options and in its own case, so that no other spelling opens another count; null if there
   * is no model.
   */
  model: string | null
  /** Null except for a text model. */
  tier: TextTier | null
  /** Null for an unidentified caller. */
  principal: Principal | null
  /** The key for counting a caller without an account: an `addressSubject`, or the payer of a verified payment. */
  address: string
}

/** Returns the limit of a plan (brief §8.1–§8.3). A text request without a tier gets the strictest one. */
export const limitOf = (plan: PlanName, limit: LimitName, tier: TextTier | null): RateLimit =>
  limit === 'text' ? textLimits[plan][tier ?? 'L'] : otherLimits[plan][limit]

/** Returns the caller's limit: the plan's, with the operator's changes. */
function userLimit({ principal, limit, model, tier }: LimitedRequest, settings: LimitSettings): RateLimit {
  const planned = limitOf(principal?.plan ?? 'default', limit, tier)
  const change = limitChange(settings, { principal, limit, model })
  const tokens = change.tokensPerMinute ?? planned.tokensPerMinute
  return {
    requestsPerMinute: change.requestsPerMinute ?? planned.requestsPerMinute,
    ...(tokens === undefined ? {} : { tokensPerMinute: tokens }),
  }
}

/** Returns the counts that a request must fit into: its account's, its key's and the global one. */
export function limitDimensions(request: LimitedRequest, extra: LimitSettings = {}): LimitDimension[] {
  const { limit, principal } = request
  const what = `${limit}:${request.model ?? ''}`
  const who = hasAccount(principal) ? `account:${principal.account}` : `address:${request.address}`
  const dimensions: LimitDimension[] = [{ key: `${who}:${what}`, type: 'user', ...userLimit(request, extra) }]
  const byKey = extra.apiKey?.[limit]
  if (byKey && principal?.kind === 'key') {
    dimensions.push({ key: `key:${principal.keyId}:${what}`, type: 'api_key', ...byKey })
  }
  const global = extra.global?.[limit]
  if (global) dimensions.push({ key: `global:${what}`, type: 'global', ...global })
  return dimensions
}

/** Returns the tightest of those counts: the most that a single caller can send in a minute. */
export function limitFor(request: LimitedRequest, settings: LimitSettings = {}): RateLimit {
  const dimensions = limitDimensions(request, settings)
  const tokens = dimensions.flatMap(({ tokensPerMinute }) => tokensPerMinute ?? [])
  return {
    requestsPerMinute: Math.min(...dimensions.map(({ requestsPerMinute }) => requestsPerMinute)),
    ...(tokens.length > 0 ? { tokensPerMinute: Math.min(...tokens) } : {}),
  }
}

/** The properties that decide a model's limits; only text models have a tier. */
interface LimitedModel {
  id: string
  tier?: TextTier
}

export interface LimitedDemand {
  operation: Operation
  /** The model whose tier applies; null if the operation has no model or the request names an unknown one. */
  model: LimitedModel | null
  /** The request was refused before its body, which names the model, was read. */
  isUnread?: boolean
  /** Defaults to its address. */
  countedFor?: CountedFor
}

/** A model as the list of a caller's limits shows it. */
export interface ListedModel {
  id: string
  /** The limit of the operation that runs it: `text`, `video.queue`, … */
  limit: LimitName
  tier: TextTier | null
}

export interface CallerLimits {
  plan: PlanName
  models: readonly ListedModel[]
  /** Returns this caller's limit for a model. */
  limitOf(model: ListedModel): RateLimit
  availableMicroUsd: MicroUsd
  /** What is left of today's staking credit; null or absent if the service gives none. */
  stakingMicroUsd?: MicroUsd | null
  /** Whether the caller may make paid calls now. */
  accessPermitted: boolean
  /** Null if it never expires; a wallet never does. */
  keyExpiresAtMs: number | null
  nowMs: number
}

/** Returns the canonical answer about a caller's limits (brief §8.3), computed from the limiter's own rules. */
export function callerLimits(caller: CallerLimits): RateLimits {
  return {
    data: {
      accessPermitted: caller.accessPermitted,
      apiTier: { id: caller.plan === 'partner' ? 'partner' : 'paid', isCharged: true },
      balances: balancesOf(caller),
      keyExpiration: caller.keyExpiresAtMs === null ? null : new Date(caller.keyExpiresAtMs).toISOString(),
      // An epoch is a UTC day.
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

/** Every limit of the limiter and the abuse block, with its unit. */

/** A window is a fixed UTC minute (brief §8). */
export const windowMs = 60_000

/** Counters in one window: some 30 MB. Above this the oldest is dropped, which takes that many callers in a minute. */
export const windowCounters = 200_000

/**
 * Callers whose failures are remembered, at most 21 each: some 30 MB. Above this the one whose last failure is oldest
 * is dropped.
 */
export const countedSubjects = 50_000

/** Rows of the limit log are committed at most this often, so that refusals cost the disk one commit a second. */
export const limitLogCommitMs = 1_000

/**
 * Accounts with uncommitted rows, each with at most a ring of them: some 50 MB. Above this the least recently active
 * account is dropped.
 */
export const loggedAccounts = 5_000

/** Rows in one commit, which delays paid calls by some milliseconds. */
export const loggedRowsPerCommit = 1_000

/**
 * Bytes of request bodies in flight, in total and per caller. Some are in memory three times while they are parsed, so
 * this keeps a process below 2 GB; one caller may send three of the largest at once.
 */
export const usualBodyRoom = { allBytes: 512 * 1024 * 1024, ofOneBytes: 128 * 1024 * 1024 }

/** Retry delay for a caller whose body found no room: most requests end within seconds. */
export const bodiesRetryMs = 5_000

/**
 * Calls that continue after their callers left. Per account: as many as a busy program cancels within half a minute.
 * Per process: as many as its memory and engines can bear in addition to regular calls.
 */
export const unreadCalls = { perAccount: 128, perProcess: 2_048 }

/** Retry delay for an account with too many such calls: a stream ends within half a minute, most far earlier. */
export const unreadRetryMs = 5_000
