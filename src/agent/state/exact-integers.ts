import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { isCredibleUsd, type MicroUsd, microUsd } from '#contract/money.ts'

/** Reads integers as bigints: a plain read throws at one beyond 2⁵³, and would make its whole table unreadable. */
export function exactly(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** Reads an amount from a column; null if there is none, or if it is implausibly large. */
export function keptAmount(value: SQLOutputValue | undefined): MicroUsd | null {
  const amount = typeof value === 'bigint' ? microUsd(value) : null
  return amount !== null && isCredibleUsd(amount) ? amount : null
}
