import type { DatabaseSync } from 'node:sqlite'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite } from '#ledger/store/sqlite/open.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** A hold to write or capture. */
export interface Held {
  id: string
  account: string
  /** The number of the account. */
  number: number
}

/** As long as the outcome that the ledger stores for a unit. */
const outcome = '100:1000000000000:50'

/**
 * The best that SQLite allows: the rows of a hold and of a capture with two lines, written to the ledger's tables
 * without any checks.
 */
export class BareRows {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof statementsOf>
  readonly #customers: number
  #place = 0

  private constructor(database: DatabaseSync, customers: number) {
    this.#database = database
    this.#customers = customers
    this.#statements = statementsOf(database)
  }

  /** The units are spread over this many accounts. */
  static async open(path: string, customers: number): Promise<BareRows> {
    const database = openForWriting(path)
    await migrateSqlite(database, path)
    const account = database.prepare(
      `INSERT INTO account (id, kind, posted, created_at_ms) VALUES (?, 'customer', 1000000000000, 0)`,
    )
    for (let place = 0; place < customers; place++) account.run(accountOf(place))
    return new BareRows(database, customers)
  }

  newHold(): Held {
    const place = this.#place++ % this.#customers
    return { id: uuidV7(Date.now()), account: accountOf(place), number: place + 1 }
  }

  /** Writes one transaction, which is durable on return. */
  write(holds: readonly Held[], captures: readonly Held[]): void {
    const { begin, commit } = this.#statements
    begin.run()
    for (const held of holds) this.#hold(held)
    for (const held of captures) this.#capture(held)
    commit.run()
  }

  #hold({ id, account }: Held): void {
    const { hold, move, unit } = this.#statements
    hold.run(id, account, Date.now(), Date.now())
    move.run(0, 50, account)
    unit.run(`${id}/hold`, outcome)
  }

  #capture({ id, account, number }: Held): void {
    const { remove, ended, entry, move, unit } = this.#statements
    remove.run(id)
    ended.run(id)
    for (const line of [0, 1]) entry.run(number, line, id, Date.now())
    move.run(-37, -50, account)
    unit.run(`${id}/capture`, outcome)
  }

  close(): void {
    this.#database.close()
  }
}

const accountOf = (place: number): string => `customer ${place}`

function statementsOf(database: DatabaseSync) {
  return {
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    hold: database.prepare(
      `INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms) VALUES (?, ?, 50, 'bench', ?, ?)`,
    ),
    move: database.prepare('UPDATE account SET posted = posted + ?, held = held + ? WHERE id = ?'),
    unit: database.prepare('INSERT INTO unit VALUES (?, ?)'),
    remove: database.prepare('DELETE FROM hold WHERE id = ?'),
    ended: database.prepare(`INSERT INTO ended_hold VALUES (?, 'captured')`),
    entry: database.prepare(
      `INSERT INTO entry_row (kind, account_number, amount, posted_after, line, request, model, sku, units,
        unit_price_pico_usd, created_at_ms) VALUES ('CHARGE', ?, 20, 1000000000000, ?, ?, 'demo-chat', 'input', 20, 1000000, ?)`,
    ),
  }
}
