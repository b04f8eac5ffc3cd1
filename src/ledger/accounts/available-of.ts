import { addUsd, type MicroUsd } from '#contract/money.ts'
import type { Balance } from '../store/outcome.ts'

/** What an account has available after a unit; null where the unit did not touch its money. */
export const availableOf = (balances: readonly Balance[], account: string): MicroUsd | null => {
  const balance = balances.find(each => each.account === account)
  return balance ? addUsd(balance.posted, -balance.held) : null
}
