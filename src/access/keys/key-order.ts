import { invalidRequest } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { activeKeys } from '#contract/limits.ts'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import type { CreateKeyRequest, KeyLimitPeriod, UpdateKeyRequest } from '#contract/operations/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import { type ApiKeyRecord, type CreatedKey, type KeyChange, KeyRefused, type NewKey } from './api-keys.ts'
import { shownLimits, shownPeriod, shownTime } from './shown-key.ts'

const periods: Record<KeyLimitPeriod, BudgetPeriod> = { EPOCH: 'epoch', MONTH: 'month', LIFETIME: 'lifetime' }

type Order = Pick<CreateKeyRequest, 'apiKeyType' | 'description' | 'consumptionLimit' | 'limitPeriod' | 'expiresAt'>

/** What a caller asks for, as a key of the account. Throws 400 where it would have ended before it began. */
export const keyOrder = (account: string, request: Order, nowMs: number): NewKey => ({
  account,
  label: request.description,
  role: request.apiKeyType,
  expiresAtMs: endOf(request.expiresAt, nowMs),
  budget: budgetAfter(null, request),
  mostActive: activeKeys,
})

/** What a caller changes of a key; members that are absent stay as they are. Throws 400. */
export function keyChange(
  key: ApiKeyRecord,
  request: UpdateKeyRequest,
  nowMs: number,
): { budget: KeyBudget | null; more: KeyChange } {
  const { description, expiresAt } = request
  return {
    budget: budgetAfter(key.budget, request),
    more: {
      before: { budget: key.budget, expiresAtMs: key.expiresAtMs },
      ...(description === undefined ? {} : { label: description }),
      ...(expiresAt === undefined ? {} : { expiresAtMs: endOf(expiresAt, nowMs) }),
    },
  }
}

/** Null where neither a limit nor a period is set; a period alone stays, and counts what is spent in it. */
function budgetAfter(
  before: KeyBudget | null,
  { consumptionLimit, limitPeriod }: Pick<Order, 'consumptionLimit' | 'limitPeriod'>,
): KeyBudget | null {
  if (consumptionLimit === undefined && limitPeriod === undefined) return before
  const asked = consumptionLimit ?? {}
  const diem = asked.diem === undefined ? asked.vcu : asked.diem
  const usd = asked.usd === undefined ? (before?.usd ?? null) : microOf(asked.usd)
  const staking = diem === undefined ? (before?.staking ?? null) : microOf(diem)
  const period = limitPeriod ? periods[limitPeriod] : before?.period
  if (usd === null && staking === null && limitPeriod === undefined) return null
  return { period: period ?? 'epoch', usd, staking }
}

const microOf = (usd: number | null): MicroUsd | null => (usd === null ? null : microUsd(Math.round(usd * 1e6)))

function endOf(expiresAt: string | null | undefined, nowMs: number): number | null {
  if (!expiresAt) return null
  const endMs = Date.parse(expiresAt)
  if (endMs > nowMs) return endMs
  throw fieldError(['expiresAt'], 'Must be in the future; DELETE /api_keys ends a key now')
}

/** The answer that shows a key this once. */
export const createdKey = (key: CreatedKey) => ({
  success: true as const,
  data: {
    id: key.id,
    apiKey: key.secret,
    apiKeyType: key.role,
    description: key.label,
    consumptionLimit: shownLimits(key.budget),
    limitPeriod: shownPeriod(key.budget),
    expiresAt: shownTime(key.expiresAtMs),
  },
})

/** Another change or call came between: what it left has to be read first. */
export const keyMoved = (error: unknown): boolean =>
  error instanceof KeyRefused && (error.why === 'key_moved' || error.why === 'over_budget')

/** For a caller who has as many keys as one may have; null where it is another refusal. */
export const tooManyKeys = (error: unknown): ServiceError | null =>
  error instanceof KeyRefused && error.why === 'too_many_keys'
    ? invalidRequest({
        error: `An account has ${activeKeys} active keys at most; end one with DELETE /api_keys, then make another.`,
      })
    : null
