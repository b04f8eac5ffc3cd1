import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import type { Balance, Refusal } from '../outcome.ts'
import type { Op } from '../units.ts'
import type { Known } from './known-rows.ts'

/** One unit while it is applied: what it has touched so far. */
export interface Work {
  unit: string
  /** Balances as the unit has left them, by account. */
  balances: Map<string, Balance>
  entriesWritten: number
}

/** Checks first, then writes: an operation that refuses has written nothing itself. */
export type Apply<O extends Op> = (op: O, work: Work) => Refusal | null

export type Appliers<Name extends Op['op']> = { [N in Name]: Apply<Extract<Op, { op: N }>> }

/** A statement whose integers come back as bigints. */
export function prepareExact(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

export interface Balances {
  /** Null where there is no such account. */
  read(account: string, work: Work): Balance | null
  move(before: Balance, postedChange: bigint, heldChange: bigint, work: Work): void
}

/** The writer is alone, so a balance that was read in this transaction is still true when it is written back. */
export function balancesIn(database: DatabaseSync, accounts: Known<Balance>): Balances {
  const select = prepareExact(database, 'SELECT posted, held FROM account WHERE id = ?')
  const update = database.prepare('UPDATE account SET posted = ?, held = ? WHERE id = ?')
  return {
    read(account, work) {
      const known = work.balances.get(account) ?? accounts.get(account)
      if (known) return known
      const row = select.get(account) as { posted: MicroUsd; held: MicroUsd } | undefined
      if (!row) return null
      const balance = { account, posted: row.posted, held: row.held }
      accounts.set(account, balance)
      return balance
    },
    move({ account, posted, held }, postedChange, heldChange, work) {
      const after = { account, posted: microUsd(posted + postedChange), held: microUsd(held + heldChange) }
      update.run(after.posted, after.held, account)
      accounts.set(account, after)
      work.balances.set(account, after)
    },
  }
}
