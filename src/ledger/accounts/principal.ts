import type { PlanName } from '#contract/limits.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { KeyBudget } from '../store/account-ops.ts'

/** Who a request comes from, once it has proved it. */
export type Principal = KeyPrincipal | WalletPrincipal

export interface KeyPrincipal {
  kind: 'key'
  account: string
  keyId: string
  /** Absent: it manages nothing. */
  role?: KeyRole
  plan: PlanName
  /** What this key may spend of its account's credit; absent or null where it has no limit. */
  budget?: KeyBudget | null
}

export interface WalletPrincipal {
  kind: 'wallet'
  account: string
  /** Normalised: EVM in lower case, Solana as it is. */
  wallet: string
  plan: PlanName
  /** It has never had credit here, and so no account: anyone can make any number of such wallets. */
  isNew: boolean
}

/** What failures are counted by: one key that misbehaves must not block the others of its account. */
export const subjectOf = (principal: Principal): string =>
  principal.kind === 'key' ? `key:${principal.keyId}` : `wallet:${principal.wallet}`
