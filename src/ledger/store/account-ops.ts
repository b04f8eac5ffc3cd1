import type { PlanName } from '#contract/limits.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { KeyRole } from '#contract/operations/keys.ts'

/** Opening an existing account changes nothing. */
export interface OpenAccount {
  op: 'account'
  account: string
  kind: 'wallet' | 'customer'
  atMs: number
}

/** A wallet belongs to one account permanently; linking it to the same one again changes nothing. */
export interface LinkWallet {
  op: 'wallet'
  /** Normalized: EVM in lower case, Solana unchanged. */
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
  /** `INFERENCE` if absent: only an ADMIN key manages keys and reads the account's bills. */
  role?: KeyRole
  /** The last characters of the secret, shown to its owner. */
  ending?: string
  /** Maximum number of active keys of the account, including this one. */
  mostActive?: number
  expiresAtMs: number | null
  /** Absent or null: the key may spend all credit of its account. */
  budget?: KeyBudget | null
  atMs: number
}

/** What a key may spend per period, separately in USD and staking credit; null is unlimited. */
export interface KeyBudget {
  period: BudgetPeriod
  usd: MicroUsd | null
  staking: MicroUsd | null
}

/** A UTC day, a UTC month, or a key's whole life. */
export type BudgetPeriod = 'epoch' | 'month' | 'lifetime'

/** Starts of a UTC day and of its month. */
export interface PeriodStarts {
  epochStartMs: number
  monthStartMs: number
}

export interface KeyState {
  budget: KeyBudget | null
  expiresAtMs: number | null
}

/**
 * Replaces a key's budget. It counts what is held from now on, and, if the kind of period stays, what was held before.
 * An open hold keeps the limits with which it was opened, unless the new ones are lower.
 */
export interface SetKeyBudget {
  op: 'keyBudget'
  key: string
  budget: KeyBudget | null
  /** The key as it was read: if it has changed or was revoked, the change is refused as `key_moved`. */
  before?: KeyState
  /** The current day and month: if the key has already used more of its period than the new limits, `over_budget`. */
  covers?: PeriodStarts
  /** The key's purpose and expiry; each stays unchanged if absent. */
  label?: string
  expiresAtMs?: number | null
  atMs: number
}

export interface RevokeKey {
  op: 'revokeKey'
  key: string
  atMs: number
}

export interface CustomerDetails {
  name: string | null
  email: string | null
  note: string | null
  /** Null for the plan of the configuration. */
  plan: PlanName | null
}

/** Writes the details that are given; the others stay. */
export interface SetCustomer {
  op: 'customer'
  account: string
  set: Partial<CustomerDetails>
  atMs: number
}

/**
 * From now on, the account's holds, extensions and renewals are refused as `suspended`; captures, releases, refunds and
 * credits continue. Suspending it again keeps the first date and replaces the reason.
 */
export interface SuspendAccount {
  op: 'suspend'
  account: string
  /** Only operators see it. */
  reason: string
  atMs: number
}

/** Resuming an account that is active changes nothing. */
export interface ResumeAccount {
  op: 'resume'
  account: string
}

/**
 * Changes an operator's row if `fence` is the row's current number, or 0 if the row does not exist yet; a change adds
 * 1. `set: null` removes the row. Refused as `operator_moved`, or as `last_owner` if no owner would be left.
 */
export interface MoveOperator {
  op: 'operator'
  operator: string
  fence: number
  set: OperatorFields | null
  atMs: number
}

interface OperatorFields {
  role: string
  /** Changes with everything that must end the operator's sessions. */
  epoch: string
  /** JSON text: the operator's ways to prove their identity, without a secret in clear text. */
  proofs: string
}

/** Appends a row to the log of operators' actions, in the unit of the action itself. It never contains a secret. */
export interface NoteAct {
  op: 'act'
  /** Who did it: a user of a machine, or a session. */
  actor: string
  act: OperatorAct
  account: string | null
  /** What the action was about, other than the account: a key or a request. */
  subject: string | null
  reason: string | null
  /** JSON texts of the changed values. */
  before: string | null
  after: string | null
  atMs: number
}

export type OperatorAct =
  | 'customer.create'
  | 'customer.change'
  | 'customer.credit'
  | 'customer.refund'
  | 'customer.suspend'
  | 'customer.resume'
  | 'customer.limit'
  | 'job.refund'
  | 'limit.unblock'
  | 'payment.check'
  | 'model.try'
  | 'settings.change'
  | 'key.create'
  | 'key.budget'
  | 'key.revoke'
  | 'secret.rotate'
  | 'secret.replace'
  | 'secret.drop'
  | 'ledger.reopen'
  | 'operator.create'
  | 'operator.role'
  | 'operator.remove'
  | 'operator.reset'
  | 'operator.proof'
