import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EntryFold, FoldedEntry } from '../store.ts'
import { prepareExact } from './work.ts'

/** Folding keeps the amount of each kind between the same two sides, and the balance after the entries. */
const sumsOfEntries = `SELECT kind, debit, credit, sum(amount) AS amount FROM entry
  WHERE account = ?1 AND seq BETWEEN ?2 AND ?3 GROUP BY 1, 2, 3 HAVING sum(amount) <> 0 ORDER BY 1, 2, 3`
const refundedSince = `SELECT 1 FROM entry_row AS paid JOIN entry_row AS back ON back.ref = 'refund:' || paid.request
  WHERE paid.account_number = (SELECT number FROM account_number WHERE account = ?1) AND paid.seq BETWEEN ?2 AND ?3
  LIMIT 1`
const balanceAfter = `SELECT posted_after FROM entry WHERE account = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1`

const columns = [
  ...['seq', 'id', 'kind', 'account', 'debit', 'credit', 'amount', 'posted_after', 'ref', 'line', 'request', 'model'],
  ...['sku', 'units', 'unit_price_pico_usd', 'reason', 'api_key', 'budget_period', 'budget_start_ms', 'staking_day_ms'],
  'created_at_ms',
] as const satisfies (keyof FoldedEntry)[]

/** Replaces entries by their sums in one transaction, or throws and changes nothing. */
export function entryFolder(database: DatabaseSync): (fold: EntryFold) => void {
  let prepared: ReturnType<typeof prepareFold> | null = null
  return fold => {
    prepared ??= prepareFold(database)
    const { begin, commit } = prepared
    begin.run()
    try {
      replace(prepared, fold)
      commit.run()
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }
}

function prepareFold(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql)
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    allow: prepare(`INSERT INTO compaction (one, before_ms, folding) VALUES (1, ?1, 1)
      ON CONFLICT DO UPDATE SET before_ms = max(before_ms, ?1), folding = 1`),
    sums: prepareExact(database, sumsOfEntries),
    balance: prepareExact(database, balanceAfter),
    refunded: prepare(refundedSince),
    remove: prepare(
      'DELETE FROM entry_row WHERE seq BETWEEN ?2 AND ?3 AND account_number = (SELECT number FROM account_number WHERE account = ?1)',
    ),
    insert: prepare(`INSERT INTO entry (${columns.join()}) VALUES (${columns.map(() => '?').join()})`),
    refuse: prepare('UPDATE compaction SET folding = 0'),
    commit: prepare('COMMIT'),
  }
}

function replace(statements: ReturnType<typeof prepareFold>, fold: EntryFold): void {
  const { account, firstSeq, lastSeq, count, entries, beforeMs } = fold
  const { allow, sums, balance, refunded, remove, insert, refuse } = statements
  const money = () => JSON.stringify([sums.all(account, firstSeq, lastSeq), balance.get(account, lastSeq)], asText)
  if (refunded.get(account, firstSeq, lastSeq)) throw new Error('A call was refunded after its entries were read.')
  allow.run(beforeMs)
  const before = money()
  const { changes } = remove.run(account, firstSeq, lastSeq)
  for (const entry of entries) insert.run(...columns.map(name => entry[name]))
  if (changes !== count || money() !== before)
    throw new Error('The entries have changed since their sums were computed.')
  refuse.run()
}

const asText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value)
