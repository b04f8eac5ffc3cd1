import type { MicroUsd } from '#contract/money.ts'
import type { KeyRole } from '#contract/operations/keys.ts'

/** Opening an account that exists changes nothing. */
export interface OpenAccount {
  op: 'account'
  account: string
  kind: 'wallet' | 'customer'
  atMs: number
}

/** A wallet belongs to one account for good; linking it again to the same one changes nothing. */
export interface LinkWallet {
  op: 'wallet'
  /** Normalised: EVM in lower case, Solana as it is. */
  wallet: string
  account: string
  atMs: number
}

export interface AddKey {
  op: 'key'
  key: string
  account: string
  /** Keyed hash of the secret, hex; the secret itself is never stored. */
  hash: string
  /** The first characters of the secret, shown in lists. */
  prefix: string
  label: string
  /** `INFERENCE` where absent: only an ADMIN key manages keys and reads the account's bills. */
  role?: KeyRole
  /** The last characters of the secret, shown to its owner. */
  ending?: string
  /** Most keys that count which the account may have, this one included. */
  mostActive?: number
  expiresAtMs: number | null
  /** Absent or null: the key may spend what its account has. */
  budget?: KeyBudget | null
  atMs: number
}

/** What a key may spend in each period, of USD and of staking credit apart; null is without a limit of its own. */
export interface KeyBudget {
  period: BudgetPeriod
  usd: MicroUsd | null
  staking: MicroUsd | null
}

/** A UTC day, a UTC month, or all of a key's life. */
export type BudgetPeriod = 'epoch' | 'month' | 'lifetime'

/** Starts of a UTC day and of its month. */
export interface PeriodStarts {
  epochStartMs: number
  monthStartMs: number
}

/** What of a key a change of it depends on. */
export interface KeyState {
  budget: KeyBudget | null
  expiresAtMs: number | null
}

/**
 * Replaces a key's budget; it counts what is held from now on, and within one kind of period what was held before. A hold
 * that is open keeps the limits that it was opened with, where the new ones are not lower.
 */
export interface SetKeyBudget {
  op: 'keyBudget'
  key: string
  budget: KeyBudget | null
  /** The key as it was read: where it is another by now, or revoked, the change is refused as `key_moved`. */
  before?: KeyState
  /** The present day and month: where the key has used more of its period than the new limits, `over_budget`. */
  covers?: PeriodStarts
  /** What the key is for and when it ends; each stays as it is where it is absent. */
  label?: string
  expiresAtMs?: number | null
  atMs: number
}

export interface RevokeKey {
  op: 'revokeKey'
  key: string
  atMs: number
}
