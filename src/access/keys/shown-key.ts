import { formatUsd, type MicroUsd, toUsdNumber } from '#contract/money.ts'
import type { ApiKey, KeyLimitPeriod } from '#contract/operations/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { ApiKeyRecord } from './api-keys.ts'
import type { Charged, KeyUse } from './key-uses.ts'

const shownPeriods: Record<BudgetPeriod, KeyLimitPeriod> = { epoch: 'EPOCH', month: 'MONTH', lifetime: 'LIFETIME' }

/** A key without a period of its own is shown with the shortest, which is what it gets when limits are set without one. */
export const shownPeriod = (budget: KeyBudget | null): KeyLimitPeriod => shownPeriods[budget?.period ?? 'epoch']

/** `vcu`, the older name of `diem`, is shown as nothing: whoever adds both up would count one twice. */
export const shownLimits = (budget: KeyBudget | null) => ({
  usd: limitOf(budget?.usd),
  diem: limitOf(budget?.staking),
  vcu: null,
})

const limitOf = (limit: MicroUsd | null | undefined): number | null => (limit == null ? null : toUsdNumber(limit))

export const shownTime = (atMs: number | null): string | null => (atMs === null ? null : new Date(atMs).toISOString())

/** A key as the published contract shows it to its account (§11.3). */
export const shownKey = (key: ApiKeyRecord, { lastUsedMs, trailingSevenDays, currentPeriod }: KeyUse): ApiKey => ({
  id: key.id,
  apiKeyType: key.role,
  description: key.label,
  last6Chars: key.ending,
  consumptionLimits: shownLimits(key.budget),
  limitPeriod: shownPeriod(key.budget),
  createdAt: shownTime(key.createdAtMs),
  expiresAt: shownTime(key.expiresAtMs),
  lastUsedAt: shownTime(lastUsedMs),
  usage: { trailingSevenDays: { ...shownCharged(trailingSevenDays), vcu: formatUsd(0n) } },
  ...(currentPeriod ? { currentPeriodUsage: shownCharged(currentPeriod) } : {}),
})

const shownCharged = ({ usd, staking }: Charged) => ({ usd: formatUsd(usd), diem: formatUsd(staking) })
