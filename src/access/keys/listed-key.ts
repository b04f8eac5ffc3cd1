import { formatUsd, type MicroUsd } from '#contract/money.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { ApiKeyRecord, KeyNeeds, KeyRefused } from './api-keys.ts'

/** A key as operators' commands list it; never its secret. */
export interface ListedKey {
  id: string
  account: string
  prefix: string
  role: KeyRole
  label: string
  createdAtMs: number
  expiresAtMs: number | null
  revokedAtMs: number | null
  needs: KeyNeeds
  budget: ListedBudget | null
}

/** Limits as decimal USD; null is without. */
export interface ListedBudget {
  period: BudgetPeriod
  usd: string | null
  staking: string | null
}

export const listedKey = (record: ApiKeyRecord): ListedKey => {
  const { id, account, prefix, role, label, createdAtMs, expiresAtMs, revokedAtMs, needs, budget } = record
  return {
    id,
    account,
    prefix,
    role,
    label,
    createdAtMs,
    expiresAtMs,
    revokedAtMs,
    needs,
    budget: budget && listed(budget),
  }
}

function listed({ period, usd, staking }: KeyBudget): ListedBudget {
  const text = (limit: MicroUsd | null) => (limit === null ? null : formatUsd(limit))
  return { period, usd: text(usd), staking: text(staking) }
}

/** Why a key could not be made or revoked, for a person. */
export const refusalSentence = ({ why }: KeyRefused): string =>
  why === 'no_account' ? 'There is no such account.' : why === 'no_key' ? 'There is no such key.' : `Refused: ${why}.`
