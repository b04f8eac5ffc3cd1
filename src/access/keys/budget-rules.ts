import { fieldError } from '#contract/errors/issues.ts'
import { type MicroUsd, microUsd, toUsdNumber } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { budgetLeft } from '#ledger/accounts/budget-periods.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import { type ApiKeyRecord, type ApiKeys, type CreatedKey, KeyRefused, type NewKey } from './api-keys.ts'

/**
 * A key with a budget cannot make more spendable than that budget: it raises none, its own or another's, and what it
 * gives to a new key is taken from its own.
 */

const currencies = ['usd', 'staking'] as const
type Currency = (typeof currencies)[number]

/** As the API names them. */
const shown = { usd: { member: 'usd', word: 'USD' }, staking: { member: 'diem', word: 'Diem' } } as const

/** How often a limit starts anew, the rarest first. */
const periods: readonly BudgetPeriod[] = ['lifetime', 'month', 'epoch']
const isOftener = (one: BudgetPeriod, other: BudgetPeriod): boolean => periods.indexOf(one) > periods.indexOf(other)

export const hasLimit = (budget: KeyBudget | null): budget is KeyBudget =>
  budget !== null && (budget.usd !== null || budget.staking !== null)

/** Throws 400 where the change lets its key spend more. For callers with a budget. */
export function requireNoRaise(before: KeyBudget | null, after: KeyBudget | null): void {
  if (!before) return
  for (const currency of currencies) {
    const limit = before[currency]
    if (limit === null) continue
    const wanted = after?.[currency] ?? null
    if (wanted === null || wanted > limit) throw raised(currency, wanted, limit)
    if (wanted > 0n && after && isOftener(after.period, before.period)) {
      const problem = `would start this limit anew more often than ${before.period} does; a key with a budget raises none. Leave it out, or use a key without a budget.`
      throw fieldError(['limitPeriod'], problem)
    }
  }
}

function raised(currency: Currency, wanted: MicroUsd | null, limit: MicroUsd) {
  const { member, word } = shown[currency]
  const value = wanted === null ? 'is no limit' : `is ${toUsdNumber(wanted)} ${word}`
  return fieldError(
    ['consumptionLimit', member],
    `${value}, and this key's budget is ${toUsdNumber(limit)}; a key with a budget raises none. Ask for ${toUsdNumber(limit)} or less, or use a key without a budget.`,
  )
}

interface Parts {
  keys: Pick<ApiKeys, 'keptOne' | 'create' | 'setBudget'>
  store: Store
  clock: Clock
}

/** A new key by order of another one; what it may spend is taken from the budget of that one. Throws 400, `KeyRefused`. */
export async function createWithin(parts: Parts, creatorId: string, order: NewKey): Promise<CreatedKey> {
  const { keys } = parts
  for (;;) {
    const creator = await keys.keptOne(order.account, creatorId)
    if (!creator || !hasLimit(creator.budget)) return keys.create(order)
    const before = creator.budget
    await requireLeft(parts, creator, before, order.budget ?? null)
    const lowered = without(before, order.budget ?? null)
    if (!(await moved(keys, creator, before, lowered))) continue
    try {
      // A call that began meanwhile may have taken what was left; from now on it is held against the lower budget.
      await requireLeft(parts, creator, before, order.budget ?? null)
      return await keys.create(order)
    } catch (error) {
      await moved(keys, creator, lowered, before)
      throw error
    }
  }
}

/** Throws 400 where the new key could spend more than the creator has left. */
async function requireLeft(
  { store, clock }: Parts,
  { id }: ApiKeyRecord,
  budget: KeyBudget,
  wanted: KeyBudget | null,
): Promise<void> {
  const left = await budgetLeft(store, id, budget, clock.now())
  for (const currency of currencies) {
    const most = left[currency]
    if (most === null) continue
    const amount = wanted?.[currency] ?? null
    if (amount !== null && amount <= most) continue
    const { member, word } = shown[currency]
    const value = amount === null ? 'is no limit' : `is ${toUsdNumber(amount)} ${word}`
    throw fieldError(
      ['consumptionLimit', member],
      `${value}, and the key that asks has ${toUsdNumber(most)} left of its own budget. Ask for ${toUsdNumber(most)} or less, or use a key without a budget.`,
    )
  }
  if (wanted && isOftener(wanted.period, budget.period)) {
    const problem = `would start anew more often than the budget of the key that asks (${budget.period}). Ask for that period, or use a key without a budget.`
    throw fieldError(['limitPeriod'], problem)
  }
}

function without(budget: KeyBudget, given: KeyBudget | null): KeyBudget {
  const less = (currency: Currency) => {
    const limit = budget[currency]
    return limit === null ? null : microUsd(limit - (given?.[currency] ?? 0n))
  }
  return { period: budget.period, usd: less('usd'), staking: less('staking') }
}

/** False where another change came between. */
async function moved(
  keys: Parts['keys'],
  { id, expiresAtMs }: ApiKeyRecord,
  budget: KeyBudget,
  after: KeyBudget,
): Promise<boolean> {
  try {
    await keys.setBudget(id, after, { before: { budget, expiresAtMs } })
    return true
  } catch (error) {
    if (error instanceof KeyRefused && error.why === 'key_moved') return false
    throw error
  }
}
