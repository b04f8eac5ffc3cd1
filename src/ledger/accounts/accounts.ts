import { type MicroUsd, microUsd } from '#contract/money.ts'
import { groupedRead } from '../store/grouped-read.ts'
import type { Store } from '../store/store.ts'
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

const balance = groupedRead(
  (read, ids) => read.selectFrom('account').select(['id', 'posted', 'held']).where('id', 'in', ids),
  row => row.id,
)

/** Zero for an account that does not exist yet, as a wallet's is before its first top-up. */
export async function balanceOf(store: Store, account: string): Promise<AccountBalance> {
  const row = await balance(store.read, account)
  if (!row) return nothing
  return {
    postedMicroUsd: microUsd(row.posted),
    heldMicroUsd: microUsd(row.held),
    availableMicroUsd: microUsd(row.posted - row.held),
  }
}

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

/** The contract knows three kinds. What others pay of a charge (staking credit, a write-off) is money back, not a top-up. */
function shownKind(kind: EntryTable['kind'], effect: bigint): AccountEntry['type'] {
  if (kind === 'GRANT' || kind === 'TOP_UP') return 'TOP_UP'
  if (kind === 'CHARGE' || effect < 0n) return 'CHARGE'
  return 'REFUND'
}
