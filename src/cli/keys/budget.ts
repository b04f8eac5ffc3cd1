import { formatUsd, type MicroUsd, parseUsd } from '#contract/money.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import { wrongUsage } from '../arguments.ts'

/** The flags of a key's budget. */
export const budgetOptions = {
  'budget-usd': { type: 'string' },
  'budget-staking': { type: 'string' },
  period: { type: 'string' },
} as const

interface BudgetValues {
  'budget-usd'?: string | undefined
  'budget-staking'?: string | undefined
  period?: string | undefined
}

const periods: readonly BudgetPeriod[] = ['epoch', 'month', 'lifetime']

/** Null where none of the flags is there. Throws what is wrong with them. */
export function budgetOf(values: BudgetValues, command: string): KeyBudget | null {
  const [usd, staking] = (['budget-usd', 'budget-staking'] as const).map(flag => limitOf(values, flag, command))
  if (usd === undefined || staking === undefined || (usd === null && staking === null)) {
    if (values.period === undefined) return null
    throw wrongUsage(command, '`--period` needs `--budget-usd` or `--budget-staking`')
  }
  const period = periods.find(each => each === values.period)
  if (!period) throw wrongUsage(command, periodProblem(values.period))
  return { period, usd, staking }
}

const periodProblem = (given: string | undefined): string =>
  given === undefined
    ? 'A budget needs `--period`: epoch (a day of UTC), month or lifetime'
    : `\`--period\` takes epoch (a day of UTC), month or lifetime, not \`${given.slice(0, 40)}\``

function limitOf(values: BudgetValues, flag: 'budget-usd' | 'budget-staking', command: string): MicroUsd | null {
  const text = values[flag]
  if (text === undefined) return null
  const limit = parseUsd(text)
  if (limit === null || limit < 0n) throw wrongUsage(command, `\`--${flag}\` takes an amount such as 5 or 0.25, or 0`)
  return limit
}

/** As the service's own commands take it. */
export function sentBudget({ period, usd, staking }: KeyBudget) {
  const text = (limit: MicroUsd | null) => (limit === null ? null : formatUsd(limit))
  return { period, usd: text(usd), staking: text(staking) }
}
