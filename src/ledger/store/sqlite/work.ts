import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { knownRowsMost } from '../../bounds.ts'
import type { BudgetPeriod } from '../account-ops.ts'
import type { Balance, Refusal } from '../store.ts'
import type { HoldTable } from '../tables.ts'
import type { Op } from '../units.ts'

/** A unit while it is applied: what it has touched so far. */
export interface Work {
  unit: string
  /** Balances as the unit has left them, by account. */
  balances: Map<string, Balance>
  entriesWritten: number
}

/** Checks first, then writes: an operation that refuses has written nothing itself. */
export type Apply<O extends Op> = (op: O, work: Work) => Refusal | null

export type Appliers<Name extends Op['op']> = { [N in Name]: Apply<Extract<Op, { op: N }>> }

/** Prepares a statement whose integers are returned as bigints. */
export function prepareExact(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

export interface Balances {
  /** Returns null if there is no such account. */
  read(account: string, work: Work): Balance | null
  move(before: Balance, postedChange: bigint, heldChange: bigint, work: Work): void
  /** The account must exist. Reads this from the same row as its balance. */
  isSuspended(account: string): boolean
}

/** No other connection writes, so a balance read in this transaction is still true when it is written back. */
export function balancesIn(
  database: DatabaseSync,
  { accounts, suspended }: Pick<KnownRows, 'accounts' | 'suspended'>,
): Balances {
  const select = prepareExact(
    database,
    'SELECT posted, held, suspended_at_ms IS NOT NULL AS suspended FROM account WHERE id = ?',
  )
  const update = database.prepare('UPDATE account SET posted = ?, held = ? WHERE id = ?')
  return {
    read(account, work) {
      const known = work.balances.get(account) ?? accounts.get(account)
      if (known) return known
      const row = select.get(account) as AccountRow | undefined
      if (!row) return null
      const balance = { account, posted: row.posted, held: row.held }
      accounts.set(account, balance)
      suspended.set(account, row.suspended === 1n)
      return balance
    },
    isSuspended(account) {
      const known = suspended.get(account)
      if (known !== undefined) return known
      const isSuspended = (select.get(account) as AccountRow | undefined)?.suspended === 1n
      suspended.set(account, isSuspended)
      return isSuspended
    },
    move({ account, posted, held }, postedChange, heldChange, work) {
      const after = { account, posted: microUsd(posted + postedChange), held: microUsd(held + heldChange) }
      update.run(after.posted, after.held, account)
      accounts.set(account, after)
      work.balances.set(account, after)
    },
  }
}

interface AccountRow {
  posted: MicroUsd
  held: MicroUsd
  suspended: bigint
}

/** The number by which entries and outcomes refer to an account. Throws for one that does not exist. */
export function accountNumbers(database: DatabaseSync, known: Known<bigint>): (account: string) => bigint {
  const select = prepareExact(database, 'SELECT number FROM account_number WHERE account = ?')
  return account => {
    const number = known.get(account) ?? (select.get(account) as { number: bigint } | undefined)?.number
    if (number === undefined) throw new Error('An account has no number.')
    known.set(account, number)
    return number
  }
}

export type OpenHold = Omit<HoldTable, 'owed' | 'created_at_ms'>

export interface Limits {
  usd: bigint | null
  staking: bigint | null
}

export interface ApiKey {
  account: string
  revoked: boolean
  budget: { period: BudgetPeriod; limits: Limits } | null
}

/**
 * Rows as this connection last read or wrote them, so that a unit need not read what the previous one wrote. They stay
 * valid as long as no other connection writes and nothing is undone.
 */
export interface KnownRows {
  accounts: Known<Balance>
  suspended: Known<boolean>
  numbers: Known<bigint>
  holds: Known<OpenHold>
  keys: Known<ApiKey>
  /** Called when a transaction has begun: from then on no other connection writes, but one may have before. */
  check(): void
  /** Called when anything that was written is undone. */
  forget(): void
}

export function knownRows(database: DatabaseSync): KnownRows {
  // Changes with every commit of another connection, and with none of this one.
  const dataVersion = prepareExact(database, 'PRAGMA data_version')
  const [accounts, holds, keys] = [new Known<Balance>(), new Known<OpenHold>(), new Known<ApiKey>()]
  const [numbers, suspended] = [new Known<bigint>(), new Known<boolean>()]
  const forget = () => {
    for (const rows of [accounts, suspended, numbers, holds, keys]) rows.clear()
  }
  let seen: unknown = null
  return {
    ...{ accounts, suspended, numbers, holds, keys, forget },
    check() {
      const { data_version: version } = dataVersion.get() ?? {}
      if (version !== seen) forget()
      seen = version
    },
  }
}

/** Rows by id. Only existing rows are cached; an id that is not in the cache may exist or not. */
export class Known<Row> {
  readonly #rows = new Map<string, Row>()

  get(id: string): Row | undefined {
    return this.#rows.get(id)
  }

  set(id: string, row: Row): void {
    // Clearing everything works as well as choosing: rows return as they are used.
    if (this.#rows.size >= knownRowsMost && !this.#rows.has(id)) this.#rows.clear()
    this.#rows.set(id, row)
  }

  delete(id: string): void {
    this.#rows.delete(id)
  }

  clear(): void {
    this.#rows.clear()
  }
}
