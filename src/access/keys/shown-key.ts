import { sql } from 'kysely'
import { formatUsd, type MicroUsd, microUsd, toUsdNumber, zeroUsd } from '#contract/money.ts'
import type { ApiKey, KeyLimitPeriod, KeyRole } from '#contract/operations/keys.ts'
import { dayMs } from '#contract/time.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import type { ApiKeyRecord, KeyNeeds, KeyRefused } from './api-keys.ts'

/** A key as operators' commands list it, never with its secret. */
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

/** Limits as decimal USD; null is unlimited. */
interface ListedBudget {
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

/** Explains to a user why a key could not be created or revoked. */
export const refusalSentence = ({ why }: KeyRefused): string =>
  why === 'no_account' ? 'There is no such account.' : why === 'no_key' ? 'There is no such key.' : `Refused: ${why}.`

const shownPeriods: Record<BudgetPeriod, KeyLimitPeriod> = { epoch: 'EPOCH', month: 'MONTH', lifetime: 'LIFETIME' }

/** A key without a period is shown with the shortest one, which applies if limits are set without a period. */
export const shownPeriod = (budget: KeyBudget | null): KeyLimitPeriod => shownPeriods[budget?.period ?? 'epoch']

/**
 * `vcu`, the old name of `diem`, is always zero, so that a caller who adds both does not count the same credit twice.
 */
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

/** What was charged to a key, minus refunds. */
interface Charged {
  usd: MicroUsd
  staking: MicroUsd
}

interface KeyUse {
  /** Time of its latest charge; null if there is none. */
  lastUsedMs: number | null
  trailingSevenDays: Charged
  /** In its budget's current period; null if it has no budget. */
  currentPeriod: Charged | null
}

const sevenDaysMs = 7 * dayMs

/**
 * Reads the use of an account's keys, or of one of them, from an index of the key's own charges and its budget's row.
 */
export async function keyUses(
  { read }: Pick<Store, 'read'>,
  of: { account: string; id?: string },
  nowMs: number,
): Promise<(key: ApiKeyRecord) => KeyUse> {
  const sinceMs = nowMs - sevenDaysMs
  const { epochStartMs, monthStartMs } = periodStarts(nowMs)
  let keys = read.selectFrom('api_key').where('account', '=', of.account).where('revoked_at_ms', 'is', null)
  if (of.id !== undefined) keys = keys.where('id', '=', of.id)
  const lately = (what: string) =>
    sql<bigint | null>`(SELECT CAST(${sql.raw(what)} AS bigint) FROM entry e
      WHERE e.api_key = api_key.id AND e.created_at_ms > ${sinceMs})`
  const [charged, periods] = await Promise.all([
    keys
      .select([
        'id',
        sql<number | null>`(SELECT max(e.created_at_ms) FROM entry e WHERE e.api_key = api_key.id)`.as('last_used_ms'),
        lately('-sum(e.effect)').as('charged_usd'),
        lately("sum(CASE WHEN e.kind = 'STAKING' THEN e.effect ELSE 0 END)").as('charged_staking_usd'),
      ])
      .execute(),
    read
      .selectFrom('key_use')
      .select(['key', 'period', 'spent_usd', 'spent_staking_usd'])
      .where('key', 'in', keys.select('id'))
      .where('start_ms', 'in', [0, epochStartMs, monthStartMs])
      .where(({ eb, or, and }) =>
        or([
          and([eb('period', '=', 'epoch'), eb('start_ms', '=', epochStartMs)]),
          and([eb('period', '=', 'month'), eb('start_ms', '=', monthStartMs)]),
          eb('period', '=', 'lifetime'),
        ]),
      )
      .execute(),
  ])
  const chargedOf = new Map(charged.map(row => [row.id, row]))
  const periodOf = new Map(periods.map(row => [`${row.period} ${row.key}`, row]))
  return ({ id, budget }) => {
    const row = chargedOf.get(id)
    const period = budget && periodOf.get(`${budget.period} ${id}`)
    return {
      lastUsedMs: row?.last_used_ms ?? null,
      trailingSevenDays: { usd: amount(row?.charged_usd), staking: amount(row?.charged_staking_usd) },
      currentPeriod: budget && { usd: amount(period?.spent_usd), staking: amount(period?.spent_staking_usd) },
    }
  }
}

const amount = (of: bigint | null | undefined): MicroUsd => (of ? microUsd(of) : zeroUsd)
