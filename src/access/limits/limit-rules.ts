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
import type { Principal } from '#ledger/accounts/principal.ts'
import type { LimitDimension } from './windows.ts'

/** An absent member keeps the plan's limit. */
interface LimitChange {
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
 * the model, the type and the plan of all accounts. `apiKey` and `global` are counts of their own, which a request has to fit
 * into besides: of one key, and of all callers together.
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

/** The plan of an account: its own, or the default one. */
export const planOf = (settings: LimitSettings | undefined, account: string, plan: PlanName): PlanName =>
  (settings && accountLimits(settings, account)?.plan) ?? plan

/** What of a plan's limit an operator changed for this account and model; nothing where there is no such setting. */
function limitChange(
  settings: LimitSettings,
  { account, limit, model }: { account: string | null; limit: LimitName; model: string | null },
): LimitChange {
  const own = account === null ? undefined : accountLimits(settings, account)
  const [ownModel, anyModel] = model === null ? [] : [ownOf(own?.models, model), ownOf(settings.models, model)]
  const change = ownModel ?? own?.types?.[limit]
  if (change) return change
  return own?.plan ? {} : (anyModel ?? settings.types?.[limit] ?? {})
}

/** Callers choose some of these names, so members that every object inherits must not match. */
const ownOf = <Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined =>
  record && Object.hasOwn(record, name) ? record[name] : undefined

export interface LimitedRequest {
  limit: LimitName
  /** The canonical id, without options and in its own case, so that no spelling opens another count; null where there is none. */
  model: string | null
  /** Null for everything but a text model. */
  tier: TextTier | null
  /** Null for an unidentified caller. */
  principal: Principal | null
  /** What an unidentified caller is counted by: an `addressSubject`, or the payer of a payment that was verified. */
  address: string
}

/** The limit of a plan (brief §8.1–§8.3). A text request without a tier gets the strictest one. */
export const limitOf = (plan: PlanName, limit: LimitName, tier: TextTier | null): RateLimit =>
  limit === 'text' ? textLimits[plan][tier ?? 'L'] : otherLimits[plan][limit]

/** The caller's limit: the plan's, with the operator's changes. */
function userLimit({ principal, limit, model, tier }: LimitedRequest, settings: LimitSettings): RateLimit {
  const planned = limitOf(principal?.plan ?? 'default', limit, tier)
  const change = limitChange(settings, { account: principal?.account ?? null, limit, model })
  const tokens = change.tokensPerMinute ?? planned.tokensPerMinute
  return {
    requestsPerMinute: change.requestsPerMinute ?? planned.requestsPerMinute,
    ...(tokens === undefined ? {} : { tokensPerMinute: tokens }),
  }
}

/** The counts that a request must fit into: its account's, its key's, the global one. */
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
interface LimitedModel {
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
  /** What the limiter lets this caller do with a model. */
  limitOf(model: ListedModel): RateLimit
  availableMicroUsd: MicroUsd
  /** What is left of today's staking credit; null or absent where the service gives none. */
  stakingMicroUsd?: MicroUsd | null
  /** Whether paid calls are open to this caller now. */
  accessPermitted: boolean
  /** Null where it never expires; a wallet never does. */
  keyExpiresAtMs: number | null
  nowMs: number
}

/** The canonical answer about a caller's limits (brief §8.3), computed from the limiter's own rules. */
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

/** Every limit of the limiter and the abuse block, with its unit. */

/** A window is a fixed minute of UTC (brief §8). */
export const windowMs = 60_000

/** Counters of one window: some 30 MB. Beyond it the one that was made first goes, which takes that many callers a minute. */
export const windowCounters = 200_000

/** Callers whose failures are remembered, each at most 21 times: some 30 MB. The one that failed longest ago goes first. */
export const countedSubjects = 50_000

/** Rows of the log of met limits are committed at most so often, so that refusals cost the disk one commit a second. */
export const limitLogCommitMs = 1_000

/** Accounts with rows that wait for their commit, each with at most a ring of them: some 50 MB. Beyond it the longest silent goes. */
export const loggedAccounts = 5_000

/** Rows of one commit, which paid calls wait behind for some milliseconds. */
export const loggedRowsPerCommit = 1_000

/**
 * Bytes of bodies that requests in flight hold together, and those of one caller. Some are in memory three times while
 * they are parsed, so a process stays below 2 GB of them; one caller may send three of the largest at once.
 */
export const usualBodyRoom = { allBytes: 512 * 1024 * 1024, ofOneBytes: 128 * 1024 * 1024 }

/** When a caller whose body found no room may retry: most requests end within some seconds. */
export const bodiesRetryMs = 5_000

/**
 * Calls that go on after their callers left: of one account, as many as a busy program cancels within half a minute; of
 * one process, what its memory and its engines bear beside those that are read.
 */
export const unreadCalls = { perAccount: 128, perProcess: 2_048 }

/** When an account with too many of them may try again: a stream ends within half a minute, most far earlier. */
export const unreadRetryMs = 5_000
