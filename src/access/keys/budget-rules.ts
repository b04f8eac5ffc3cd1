import { keyHasBudget } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { type MicroUsd, microUsd, toUsdNumber } from '#contract/money.ts'
import { budgetLeft } from '#ledger/accounts/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import type { ApiKeyRecord, KeyChange, NewKey } from './api-keys.ts'
import { shownPeriod, shownTime } from './shown-key.ts'

/**
 * A key with a budget makes nothing more spendable than that budget, nor for longer than it lives. It touches no key but
 * itself; of itself it raises no limit, changes no period and puts off no end; and what a key that it creates may spend is
 * taken from its own.
 */

const currencies = ['usd', 'staking'] as const
type Currency = (typeof currencies)[number]

/** As the API names them. */
const shown = { usd: { member: 'usd', word: 'USD' }, staking: { member: 'diem', word: 'Diem' } } as const

/** How often a limit starts anew, the rarest first. */
const periods: readonly BudgetPeriod[] = ['lifetime', 'month', 'epoch']
const isOftener = (one: BudgetPeriod, other: BudgetPeriod): boolean => periods.indexOf(one) > periods.indexOf(other)

/** A key without a budget does the same with any of them. */
const instead = 'use an ADMIN key without a budget'

const hasLimit = (budget: KeyBudget | null): budget is KeyBudget =>
  budget !== null && (budget.usd !== null || budget.staking !== null)

/** Throws 403 where the caller has a budget and this is another key. */
export function requireMayTouch(caller: ApiKeyRecord, id: string): void {
  if (hasLimit(caller.budget) && id !== caller.id) throw keyHasBudget()
}

/** Throws 400 where a caller with a budget would give itself more to spend, or more time. */
export function requireNoRaise(caller: ApiKeyRecord, budget: KeyBudget | null, { expiresAtMs }: KeyChange): void {
  const before = caller.budget
  if (!hasLimit(before)) return
  for (const currency of currencies) {
    const limit = before[currency]
    const wanted = budget?.[currency] ?? null
    if (limit !== null && (wanted === null || wanted > limit)) throw raised(currency, wanted, limit)
  }
  // What was spent is counted by the period, so another one would begin with nothing spent.
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
    `${value}, and this key's budget is ${toUsdNumber(limit)}; a key with a budget raises none. Ask for ${toUsdNumber(limit)} or less, or ${instead}`,
  )
}

/** Throws 400 where an end lies after the caller's. */
function requireEndBy({ expiresAtMs: ownMs }: ApiKeyRecord, endMs: number | null): void {
  if (ownMs === null || (endMs !== null && endMs <= ownMs)) return
  const value = endMs === null ? 'is never' : `is ${shownTime(endMs)}`
  throw fieldError(
    ['expiresAt'],
    `${value}, and the key that asks has a budget and ends at ${shownTime(ownMs)}. Ask for that time or an earlier one, or ${instead}`,
  )
}

/**
 * The order of a new key, with what its creator gives it where that has a budget. Throws 400 where the new key could spend
 * more than its creator has left, or outlive it.
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
    const problem = `Must start anew no more often than the budget of the key that asks (${period}). Ask for ${period}, or ${instead}`
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
      `${value}, and the key that asks has ${toUsdNumber(most)} left of its own budget. Ask for ${toUsdNumber(most)} or less, or ${instead}`,
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
