import { sql } from 'kysely'
import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
import type { Store } from '#ledger/store/store.ts'
import type { ApiKeyRecord } from './api-keys.ts'

/** What was charged to a key, refunds taken off. */
export interface Charged {
  usd: MicroUsd
  staking: MicroUsd
}

export interface KeyUse {
  /** When its newest charge was; null where there is none. */
  lastUsedMs: number | null
  trailingSevenDays: Charged
  /** In the present period of its budget; null where it has no budget. */
  currentPeriod: Charged | null
}

const sevenDaysMs = 7 * dayMs

/** Of the keys of an account, or of one of them, by the books: an index of the key's own charges, and its budget's row. */
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
