import type { DatabaseSync } from 'node:sqlite'
import { entryRefs } from '../entry-refs.ts'
import type { EntryTable } from '../tables.ts'
import type { Funds, Sources } from './apply-funds.ts'
import { entryWriter, noCause } from './entry-writer.ts'
import { type Appliers, type Balances, prepareExact } from './work.ts'

type Charge = Pick<EntryTable, 'account' | 'model' | 'api_key' | 'budget_period'> & {
  charged: bigint
  budget_start_ms: bigint | null
}

const noLimits = { usd: null, staking: null }

/** Gives a charge back to where it came from. */
export function refundAppliers(
  database: DatabaseSync,
  { balances, funds }: { balances: Balances; funds: Funds },
): Appliers<'refund'> {
  const refExists = database.prepare('SELECT 1 FROM entry WHERE ref = ? LIMIT 1')
  const chargeOf = prepareExact(
    database,
    `SELECT min(account) AS account, min(model) AS model, min(api_key) AS api_key, min(budget_period) AS budget_period,
      min(budget_start_ms) AS budget_start_ms,
      sum(CASE kind WHEN 'CHARGE' THEN amount ELSE -amount END) AS charged
    FROM entry WHERE ref IN (?, ?) HAVING count(*) > 0`,
  )
  const stakingOf = prepareExact(database, 'SELECT amount, staking_day_ms FROM entry WHERE ref = ?')
  const write = entryWriter(database)

  return {
    refund(op, work) {
      const { request, reason } = op
      const refs = [entryRefs.charge(request), entryRefs.writeOff(request)] as const
      const charge = chargeOf.get(...refs) as Charge | undefined
      const balance = charge && balances.read(charge.account, work)
      if (!charge || !balance) return 'nothing_to_refund'
      if (refExists.get(entryRefs.refund(request))) return 'refunded'
      const { account, model, api_key, budget_period, charged } = charge
      const used = stakingOf.get(entryRefs.staking(request)) as { amount: bigint; staking_day_ms: bigint } | undefined
      const staking = used?.amount ?? 0n
      const startMs = charge.budget_start_ms === null ? null : Number(charge.budget_start_ms)
      const counted = { api_key, budget_period, budget_start_ms: startMs }
      const cause = { ...noCause, ...counted, account, request, model, reason, created_at_ms: op.atMs }
      const back = { kind: 'REFUND', debit: 'system:revenue', credit: account, ref: entryRefs.refund(request) } as const
      write({ ...cause, ...back, amount: charged, posted_after: balance.posted + charged }, work)
      if (used) {
        const day = { staking_day_ms: Number(used.staking_day_ms), ref: entryRefs.stakingBack(request) }
        const gone = { kind: 'STAKING', debit: account, credit: 'system:staking', ...day } as const
        write({ ...cause, ...gone, amount: staking, posted_after: balance.posted + charged - staking }, work)
      }
      const spent = { usd: charged - staking, staking }
      funds.giveBack(spent, sourcesOfCharge(charge, used?.staking_day_ms ?? null, startMs))
      balances.move(balance, spent.usd, 0n, work)
      return null
    },
  }
}

const sourcesOfCharge = (charge: Charge, dayMs: bigint | null, startMs: number | null): Sources => ({
  staking: dayMs === null ? null : { account: charge.account, dayMs: Number(dayMs), granted: 0n },
  budget:
    charge.api_key === null || charge.budget_period === null
      ? null
      : { key: charge.api_key, period: charge.budget_period, startMs: startMs ?? 0, limits: noLimits },
})
