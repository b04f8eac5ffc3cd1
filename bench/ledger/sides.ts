import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite, openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { customers, floorUnits } from './bounds.ts'

/** A store, and single commits of one small row on the same engine and disk: what it costs to be durable and nothing else. */
export interface Side {
  name: string
  store: Store
  bareCommitsPerSecond(forMs: number): Promise<number>
  /** The ledger's rows without its rules, in units a second. */
  bareRowsPerSecond?(forMs: number): number
  close(): Promise<void>
}

export async function sqliteSide(folder: string): Promise<Side> {
  const store = await openSqliteStore({ path: join(folder, 'farebox.db') })
  const bare = new DatabaseSync(join(folder, 'bare.db'))
  bare.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  bare.exec('CREATE TABLE bare (id TEXT PRIMARY KEY, n INTEGER) STRICT, WITHOUT ROWID')
  const insert = bare.prepare('INSERT INTO bare VALUES (?, ?)')
  const rows = await bareRows(join(folder, 'rows.db'))
  return {
    name: 'SQLite',
    store,
    bareCommitsPerSecond: forMs => perSecond(forMs, async () => void insert.run(uuidV7(Date.now()), 1)),
    bareRowsPerSecond: forMs => rows.unitsPerSecond(forMs),
    async close() {
      bare.close()
      rows.close()
      await store.close()
    },
  }
}

export async function postgresSide(url: string): Promise<Side> {
  const store = await openPostgresStore({ url })
  const bare = new pg.Client({ connectionString: url })
  await bare.connect()
  await bare.query('CREATE TABLE IF NOT EXISTS bare (id text PRIMARY KEY, n bigint)')
  const text = 'INSERT INTO bare VALUES ($1, $2)'
  return {
    name: 'PostgreSQL',
    store,
    bareCommitsPerSecond: forMs =>
      perSecond(forMs, async () => void (await bare.query({ name: 'bare', text, values: [uuidV7(Date.now()), 1] }))),
    async close() {
      await bare.end()
      await store.close()
    },
  }
}

async function perSecond(forMs: number, once: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  let done = 0
  for (; performance.now() - startedAt < forMs; done++) await once()
  return done / ((performance.now() - startedAt) / 1000)
}

/** What the engine allows at best: the rows that a hold and a capture of two lines leave, written without any rule. */
interface BareRows {
  unitsPerSecond(forMs: number): number
  close(): void
}

/** On tables of its own, which are those of the ledger, in transactions of so many units as there are callers. */
async function bareRows(path: string): Promise<BareRows> {
  const database = openForWriting(path)
  await migrateSqlite(database, path)
  for (let place = 0; place < customers; place++) {
    database.prepare(`INSERT INTO account VALUES (?, 'customer', 1000000000000, 0, 0)`).run(accountOf(place))
  }
  const statements = statementsOf(database)
  let place = 0
  return {
    unitsPerSecond(forMs) {
      const startedAt = performance.now()
      let units = 0
      while (performance.now() - startedAt < forMs) {
        const holds = Array.from({ length: floorUnits }, () => ({
          id: uuidV7(Date.now()),
          number: (place % customers) + 1,
          account: accountOf(place++),
        }))
        writeHolds(statements, holds)
        writeCaptures(statements, holds)
        units += 2 * holds.length
      }
      return units / ((performance.now() - startedAt) / 1000)
    },
    close: () => database.close(),
  }
}

const accountOf = (place: number): string => `customer ${place % customers}`

interface Held {
  id: string
  account: string
  /** Of the account. */
  number: number
}

type Statements = ReturnType<typeof statementsOf>

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

/** As long as what the ledger keeps of one. */
const outcome = '100:1000000000000:50'

function writeHolds({ begin, commit, hold, move, unit }: Statements, holds: readonly Held[]): void {
  begin.run()
  for (const { id, account } of holds) {
    hold.run(id, account, Date.now(), Date.now())
    move.run(0, 50, account)
    unit.run(`${id}/hold`, outcome)
  }
  commit.run()
}

function writeCaptures({ begin, commit, remove, ended, entry, move, unit }: Statements, holds: readonly Held[]): void {
  begin.run()
  for (const { id, account, number } of holds) {
    remove.run(id)
    ended.run(id)
    for (const line of [0, 1]) entry.run(number, line, id, Date.now())
    move.run(-37, -50, account)
    unit.run(`${id}/capture`, outcome)
  }
  commit.run()
}
