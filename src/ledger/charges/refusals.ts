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
  readonly #neededMicroUsd: MicroUsd | null

  constructor(limit: 'usd' | 'staking', neededMicroUsd: MicroUsd | null = null) {
    super('The budget of this key does not cover this call.')
    this.name = 'OverBudget'
    this.limit = limit
    this.#neededMicroUsd = neededMicroUsd
  }

  /** What the call would hold. */
  get neededMicroUsd(): MicroUsd | null {
    return this.#neededMicroUsd
  }
}
