import { dayMs } from '#contract/time.ts'
import type { AuditReader } from '../audit/audit-reader.ts'

/** What an account has at one moment, in micro-USD. */
export interface ListedBalance {
  account: string
  kind: string
  /** All that its entries add up to. */
  posted: bigint
  /** Of that, reserved by calls that run. */
  held: bigint
  /** The rest: what a new call may take. */
  available: bigint
  /** Of today's staking credit; null where none of it was used yet, because only the chain knows how much there is. */
  staking: { granted: bigint; spent: bigint; held: bigint; available: bigint } | null
}

/** All null where the day has no row. */
type StakingRow =
  | Record<'granted' | 'spent' | 'staking_held', bigint>
  | Record<'granted' | 'spent' | 'staking_held', null>

type Row = Record<'posted' | 'held', bigint> & StakingRow & { id: string; kind: string }

/** Balances by account id, of one account or of all; none where there is no such account. */
export async function* listBalances(
  reader: AuditReader,
  nowMs: number,
  account?: string,
): AsyncGenerator<ListedBalance> {
  const where = account === undefined ? '' : 'WHERE a.id = ?'
  const rows = reader.rows<Row>(
    `SELECT a.id, a.kind, a.posted, a.held, s.granted_usd AS granted, s.spent_usd AS spent, s.held_usd AS staking_held
      FROM account a LEFT JOIN staking_credit s ON s.account = a.id AND s.day_ms = ? ${where} ORDER BY a.id`,
    BigInt(nowMs - (nowMs % dayMs)),
    ...(account === undefined ? [] : [account]),
  )
  for await (const { id, kind, posted, held, ...row } of rows)
    yield { account: id, kind, posted, held, available: posted - held, staking: stakingOf(row) }
}

function stakingOf({ granted, spent, staking_held: held }: StakingRow) {
  if (granted === null) return null
  const left = granted - spent - held
  return { granted, spent, held, available: left > 0n ? left : 0n }
}

/** Whether the books have this account. */
export async function hasAccount(reader: AuditReader, account: string): Promise<boolean> {
  for await (const _ of reader.rows('SELECT id FROM account WHERE id = ?', account)) return true
  return false
}
