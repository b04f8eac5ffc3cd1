import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { BareRows } from '../kit/bare-rows.ts'

/** Customers over which the units are spread. */
export const customers = 400

/** Units per transaction of the bare rows: as many as there are callers at most. */
export const bareRowUnits = 64

/** A store, and single commits of one small row on the same engine and disk: the cost of durability alone. */
export interface Side {
  store: Store
  bareCommitsPerSecond(forMs: number): Promise<number>
  /** The ledger's rows without its rules, in units per second. */
  bareRowsPerSecond?(forMs: number): number
  close(): Promise<void>
}

export async function sqliteSide(folder: string): Promise<Side> {
  const store = await openSqliteStore({ path: join(folder, 'farebox.db') })
  const bare = new DatabaseSync(join(folder, 'bare.db'))
  bare.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  bare.exec('CREATE TABLE bare (id TEXT PRIMARY KEY, n INTEGER) STRICT, WITHOUT ROWID')
  const insert = bare.prepare('INSERT INTO bare VALUES (?, ?)')
  const rows = await BareRows.open(join(folder, 'rows.db'), customers)
  return {
    store,
    bareCommitsPerSecond: forMs => perSecond(forMs, async () => void insert.run(uuidV7(Date.now()), 1)),
    bareRowsPerSecond: forMs => unitsPerSecond(rows, forMs),
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

function unitsPerSecond(rows: BareRows, forMs: number): number {
  const startedAt = performance.now()
  let units = 0
  while (performance.now() - startedAt < forMs) {
    const holds = Array.from({ length: bareRowUnits }, () => rows.newHold())
    rows.write(holds, [])
    rows.write([], holds)
    units += 2 * holds.length
  }
  return units / ((performance.now() - startedAt) / 1000)
}
