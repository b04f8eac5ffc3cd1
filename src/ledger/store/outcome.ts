import type { MicroUsd } from '#contract/money.ts'

export interface Balance {
  account: string
  posted: MicroUsd
  held: MicroUsd
}

export type Outcome = Applied | Refused

export interface Applied {
  ok: true
  /** True when the unit had been applied before and this is its first outcome. */
  again: boolean
  /** After the unit, one for each account whose money it touched. */
  balances: readonly Balance[]
}

export interface Refused {
  ok: false
  /** Index of the operation that was refused; −1 where the unit itself is `invalid`. */
  op: number
  why: Refusal
}

/** The order of preconditions is part of the contract: it exists, then its state, then the funds, then the amount. */
export type Refusal =
  | 'no_account'
  | 'no_key'
  | 'key_exists'
  | 'key_moved'
  | 'too_many_keys'
  | 'wallet_taken'
  | 'hold_exists'
  | 'no_hold'
  | 'not_owner'
  | 'lease_live'
  | 'read_only'
  | 'too_many_open'
  | 'insufficient_funds'
  | 'over_budget'
  | 'over_hold'
  | 'request_charged'
  | 'ref_exists'
  | 'nothing_to_refund'
  | 'refunded'
  | 'nonce_used'
  | 'job_exists'
  | 'job_moved'
  | 'payment_exists'
  | 'payment_moved'
  | 'claim_exists'
  | 'claim_moved'
  | 'secret_moved'
  | 'invalid'
