import { invalidRequest, keyHasBudget } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { activeKeys } from '#contract/limits.ts'
import { type MicroUsd, microUsd, toUsdNumber } from '#contract/money.ts'
import type { CreateKeyRequest, KeyLimitPeriod, UpdateKeyRequest } from '#contract/operations/keys.ts'
import { budgetLeft } from '#ledger/accounts/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import { type ApiKeyRecord, type CreatedKey, type KeyChange, KeyRefused, type NewKey } from './api-keys.ts'
import { shownLimits, shownPeriod, shownTime } from './shown-key.ts'

const periods: Record<KeyLimitPeriod, BudgetPeriod> = { EPOCH: 'epoch', MONTH: 'month', LIFETIME: 'lifetime' }

type Order = Pick<CreateKeyRequest, 'apiKeyType' | 'description' | 'consumptionLimit' | 'limitPeriod' | 'expiresAt'>

/**
 * Turns a caller's request into the order of a new key of the account. Throws 400 if the key would already have
 * expired.
 */
export const keyOrder = (account: string, request: Order, nowMs: number): NewKey => ({
  account,
  label: request.description,
  role: request.apiKeyType,
  expiresAtMs: endOf(request.expiresAt, nowMs),
  budget: budgetAfter(null, request),
  mostActive: activeKeys,
})

/** Turns a caller's request into a change of a key; absent members stay as they are. Throws 400. */
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

/** Returns null if neither a limit nor a period is set. A period alone is kept, and spending in it is counted. */
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
  throw fieldError(['expiresAt'], 'Must be in the future; to end a key now, revoke it')
}

/** The only answer that shows the key's secret. */
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

/** Another change or call came first, so the new state must be read before a retry. */
export const keyMoved = (error: unknown): boolean =>
  error instanceof KeyRefused && (error.why === 'key_moved' || error.why === 'over_budget')

/** Returns the error for a caller who has the maximum number of keys; null for any other refusal. */
export const tooManyKeys = (error: unknown): ServiceError | null =>
  error instanceof KeyRefused && error.why === 'too_many_keys'
    ? invalidRequest({
        error: `An account has at most ${activeKeys} active keys; delete one with DELETE /api_keys, then create another.`,
      })
    : null

/**
 * A key with a budget can make no more credit spendable than that budget, and not for longer than its own life. It may
 * change only itself. It cannot raise its limit, change its period or extend its life, and the budget of a key that it
 * creates is deducted from its own.
 */

const currencies = ['usd', 'staking'] as const
type Currency = (typeof currencies)[number]

/** Member and word of each currency in the API. */
const shown = { usd: { member: 'usd', word: 'USD' }, staking: { member: 'diem', word: 'Diem' } } as const

/** How often a limit resets, rarest first. */
const budgetPeriods: readonly BudgetPeriod[] = ['lifetime', 'month', 'epoch']
const isOftener = (one: BudgetPeriod, other: BudgetPeriod): boolean =>
  budgetPeriods.indexOf(one) > budgetPeriods.indexOf(other)

/** The advice in these refusals: a key without a budget may do all of this. */
const instead = 'use an ADMIN key without a budget'

const hasLimit = (budget: KeyBudget | null): budget is KeyBudget =>
  budget !== null && (budget.usd !== null || budget.staking !== null)

/** Throws 403 if the caller has a budget and this is another key. */
export function requireMayTouch(caller: ApiKeyRecord, id: string): void {
  if (hasLimit(caller.budget) && id !== caller.id) throw keyHasBudget()
}

/** Throws 400 if a caller with a budget would give itself more to spend or more time. */
export function requireNoRaise(caller: ApiKeyRecord, budget: KeyBudget | null, { expiresAtMs }: KeyChange): void {
  const before = caller.budget
  if (!hasLimit(before)) return
  for (const currency of currencies) {
    const limit = before[currency]
    const wanted = budget?.[currency] ?? null
    if (limit !== null && (wanted === null || wanted > limit)) throw raised(currency, wanted, limit)
  }
  // Spending is counted per period, so a new period would start from zero.
  if (budget && budget.period !== before.period) {
    const period = shownPeriod(before)
    throw fieldError(['limitPeriod'], `Must stay ${period}, because this key has a budget. Leave it out, or ${instead}`)
  }
  if (expiresAtMs !== undefined) requireEndBy(caller, expiresAtMs)
}

function raised(currency: Currency, wanted: MicroUsd | null, limit: MicroUsd) {
  const { member, word } = shown[currency]
  const value = wanted === null ? 'is no limit' : `is ${toUsdNumber(wanted)} ${word}`
  return fieldError(
    ['consumptionLimit', member],
    `${value}, and this key's budget is ${toUsdNumber(limit)}; a key with a budget cannot raise a limit. Ask for ${toUsdNumber(limit)} or less, or ${instead}`,
  )
}

/** Throws 400 if a key would outlive its caller. */
function requireEndBy({ expiresAtMs: ownMs }: ApiKeyRecord, endMs: number | null): void {
  if (ownMs === null || (endMs !== null && endMs <= ownMs)) return
  const value = endMs === null ? 'is never' : `is ${shownTime(endMs)}`
  throw fieldError(
    ['expiresAt'],
    `${value}, and the key that you use has a budget and ends at ${shownTime(ownMs)}. Ask for that time or an earlier one, or ${instead}`,
  )
}

/**
 * Returns the order of a new key, including the budget that its creator gives it, if the creator has one. Throws 400 if
 * the new key could spend more than its creator has left, or outlive it.
 */
export async function orderBy(
  caller: ApiKeyRecord,
  order: NewKey,
  { store, nowMs }: { store: Pick<Store, 'read'>; nowMs: number },
): Promise<NewKey> {
  const { budget } = caller
  if (!hasLimit(budget)) return order
  const given = order.budget ?? null
  requireLeft(await budgetLeft(store, caller.id, budget, nowMs), given)
  if (given && isOftener(given.period, budget.period)) {
    const period = shownPeriod(budget)
    const problem = `Must not reset more often than the budget of the key that you use (${period}). Ask for ${period}, or ${instead}`
    throw fieldError(['limitPeriod'], problem)
  }
  requireEndBy(caller, order.expiresAtMs)
  return { ...order, giver: { key: caller, keeps: without(budget, given) } }
}

function requireLeft(left: Record<Currency, MicroUsd | null>, wanted: KeyBudget | null): void {
  for (const currency of currencies) {
    const most = left[currency]
    if (most === null) continue
    const amount = wanted?.[currency] ?? null
    if (amount !== null && amount <= most) continue
    const { member, word } = shown[currency]
    const value = amount === null ? 'is no limit' : `is ${toUsdNumber(amount)} ${word}`
    throw fieldError(
      ['consumptionLimit', member],
      `${value}, and the key that you use has ${toUsdNumber(most)} left of its own budget. Ask for ${toUsdNumber(most)} or less, or ${instead}`,
    )
  }
}

function without(budget: KeyBudget, given: KeyBudget | null): KeyBudget {
  const less = (currency: Currency) => {
    const limit = budget[currency]
    return limit === null ? null : microUsd(limit - (given?.[currency] ?? 0n))
  }
  return { period: budget.period, usd: less('usd'), staking: less('staking') }
}
