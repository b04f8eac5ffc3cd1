import type { PlanName } from '#contract/limits.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { KeyBudget } from '../store/account-ops.ts'

/** The proven identity behind a request. */
export type Principal = KeyPrincipal | WalletPrincipal

export interface KeyPrincipal {
  kind: 'key'
  account: string
  keyId: string
  /** If absent, the key manages nothing. */
  role?: KeyRole
  plan: PlanName
  /** The customer's own plan, in place of the configuration's. */
  hasOwnPlan?: boolean
  /** What this key may spend of its account's credit; absent or null if unlimited. */
  budget?: KeyBudget | null
}

export interface WalletPrincipal {
  kind: 'wallet'
  account: string
  /** Normalized: EVM in lower case, Solana unchanged. */
  wallet: string
  plan: PlanName
  hasOwnPlan?: boolean
  /**
   * The wallet has never had credit here, and therefore has no account: anyone can create any number of such wallets.
   */
  isNew: boolean
}

/**
 * Whether a caller has an account. Creating wallets costs nothing, so one without an account counts like an unidentified
 * caller, by its address.
 */
export const hasAccount = (principal: Principal | null): principal is Principal =>
  principal !== null && !(principal.kind === 'wallet' && principal.isNew)

/** The name by which failures are counted: a misbehaving key must not block its account's other keys. */
export const subjectOf = (principal: Principal): string =>
  principal.kind === 'key' ? `key:${principal.keyId}` : `wallet:${principal.wallet}`
