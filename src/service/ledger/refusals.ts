import type { MicroUsd } from '#contract/money.ts'

/** Thrown before anything happened: the account's credit does not cover the hold. */
export class InsufficientCredit extends Error {
  readonly neededMicroUsd: MicroUsd

  constructor(neededMicroUsd: MicroUsd) {
    super('The available credit does not cover this call.')
    this.name = 'InsufficientCredit'
    this.neededMicroUsd = neededMicroUsd
  }
}

/** Thrown before anything happened: the account may have the credit, but this key's own limit is reached. */
export class OverBudget extends Error {
  /** Which of the key's limits. */
  readonly limit: 'usd' | 'staking'

  constructor(limit: 'usd' | 'staking') {
    super('The budget of this key does not cover this call.')
    this.name = 'OverBudget'
    this.limit = limit
  }
}
