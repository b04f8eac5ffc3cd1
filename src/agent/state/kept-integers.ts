import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { isCredibleUsd, type MicroUsd, microUsd } from '#contract/money.ts'

/** Reads integers as bigints: a plain read throws at one beyond 2⁵³, and with it every look at a table that has one. */
export function exactly(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** Of a column; null where none is kept, and where it is more than anybody means. */
export function keptAmount(value: SQLOutputValue | undefined): MicroUsd | null {
  const amount = typeof value === 'bigint' ? microUsd(value) : null
  return amount !== null && isCredibleUsd(amount) ? amount : null
}
