import { addUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import type { AuditReader } from '../audit/audit-reader.ts'
import { groupedRead } from '../store/batching.ts'
import type { Balance, Store } from '../store/store.ts'
import type { EntryTable } from '../store/tables.ts'

interface AccountBalance {
  postedMicroUsd: MicroUsd
  heldMicroUsd: MicroUsd
  availableMicroUsd: MicroUsd
}

const nothing: AccountBalance = {
  postedMicroUsd: microUsd(0),
  heldMicroUsd: microUsd(0),
  availableMicroUsd: microUsd(0),
}

const balanceRow = groupedRead(
  (read, ids) => read.selectFrom('account').select(['id', 'posted', 'held']).where('id', 'in', ids),
  row => row.id,
)

/** Zero for an account that does not exist yet, such as a wallet's before its first top-up. */
export async function balanceOf(store: Store, account: string): Promise<AccountBalance> {
  const known = store.balances?.get(account)
  if (known) return withAvailable(known)
  const read = () => readBalance(store, account)
  const balance = await (store.balances ? store.balances.read(read) : read())
  return balance ? withAvailable(balance) : nothing
}

async function readBalance({ read }: Store, account: string): Promise<Balance | null> {
  const row = await balanceRow(read, account)
  return row ? { account, posted: microUsd(row.posted), held: microUsd(row.held) } : null
}

const withAvailable = ({ posted, held }: Balance): AccountBalance => ({
  postedMicroUsd: posted,
  heldMicroUsd: held,
  availableMicroUsd: addUsd(posted, -held),
})

interface AccountEntry {
  id: string
  type: 'TOP_UP' | 'CHARGE' | 'REFUND'
  amountMicroUsd: MicroUsd
  balanceAfterMicroUsd: MicroUsd
  createdAtMs: number
  requestId: string | null
  modelId: string | null
}

/** Newest first. */
export async function entriesOf(store: Store, account: string, limit: number, offset: number): Promise<AccountEntry[]> {
  const rows = await store.read
    .selectFrom('entry')
    .select(['id', 'kind', 'effect', 'posted_after', 'created_at_ms', 'request', 'model'])
    .where('account', '=', account)
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(row => ({
    id: row.id,
    type: shownKind(row.kind, row.effect),
    amountMicroUsd: microUsd(row.effect),
    balanceAfterMicroUsd: microUsd(row.posted_after),
    createdAtMs: row.created_at_ms,
    requestId: row.request,
    modelId: row.model,
  }))
}

/**
 * The contract knows three kinds. Other parties' payments towards a charge (staking credit, a write-off) are returned
 * money, not a top-up.
 */
function shownKind(kind: EntryTable['kind'], effect: bigint): AccountEntry['type'] {
  if (kind === 'GRANT' || kind === 'TOP_UP') return 'TOP_UP'
  if (kind === 'CHARGE' || effect < 0n) return 'CHARGE'
  return 'REFUND'
}

/** An account's balance at one moment, in micro-USD. */
export interface ListedBalance {
  account: string
  kind: string
  /** The sum of its entries. */
  posted: bigint
  /** The part reserved by calls in flight. */
  held: bigint
  /** The remaining amount, which a new call may use. */
  available: bigint
  /** Today's staking credit; null if none of it was used yet, because only the chain knows how much there is. */
  staking: { granted: bigint; spent: bigint; held: bigint; available: bigint } | null
}

/** All fields are null if the day has no row. */
type StakingRow =
  | Record<'granted' | 'spent' | 'staking_held', bigint>
  | Record<'granted' | 'spent' | 'staking_held', null>

type Row = Record<'posted' | 'held', bigint> & StakingRow & { id: string; kind: string }

/** Returns balances by account id, of one account or all; empty if there is no such account. */
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

export async function hasAccount(reader: AuditReader, account: string): Promise<boolean> {
  for await (const _ of reader.rows('SELECT id FROM account WHERE id = ?', account)) return true
  return false
}

/** Returns the account's available credit after a unit; null if the unit did not touch its money. */
export const availableOf = (balances: readonly Balance[], account: string): MicroUsd | null => {
  const balance = balances.find(each => each.account === account)
  return balance ? addUsd(balance.posted, -balance.held) : null
}
