/** A database never applies a migration twice, so a change to a released migration would reach only new ledgers. */
import { createHash } from 'node:crypto'
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Migration } from 'kysely/migration'
import { expect, test } from 'vitest'
import { migrations as postgresMigrations } from '#ledger/store/postgres/migrate.ts'
import { migrations as sqliteMigrations } from '#ledger/store/sqlite/schema/tables.ts'

/** SHA-256 of all statements of each migration, its first 16 digits. A line is added with a migration, and never changed. */
const released: Record<string, string> = {
  'postgres/0001-first-release': '95b57bd654a89c72',
  'postgres/0002-fold-checks-refunds': 'd3e849f01b97c9b8',
  'sqlite/0001-first-release': '8f15c608b5b3e87f',
}

const dialects = {
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database: Kysely<unknown>) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database: Kysely<unknown>) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
}

const found = [
  ...Object.entries(postgresMigrations).map(([name, migration]) => ['postgres', name, migration] as const),
  ...Object.entries(sqliteMigrations).map(([name, migration]) => ['sqlite', name, migration] as const),
]

/** What the migration would send, without a database. */
async function statementsOf(engine: keyof typeof dialects, migration: Migration): Promise<string[]> {
  const sent: string[] = []
  const database = new Kysely<unknown>({ dialect: dialects[engine], log: ({ query }) => void sent.push(query.sql) })
  await migration.up(database)
  await database.destroy()
  return sent
}

test.each(found)('%s/%s is as it was released', async (engine, migrationName, migration) => {
  const name = `${engine}/${migrationName}`
  const statements = await statementsOf(engine, migration)
  expect(statements.length).toBeGreaterThan(0)
  const hash = createHash('sha256').update(JSON.stringify(statements)).digest('hex').slice(0, 16)
  const what = released[name]
    ? `${name} has been released and may not be changed: put it back, and add a new migration that corrects it.`
    : `${name} is new: add its line to this test once it is finished, and never change it after.`
  expect(hash, what).toBe(released[name])
})

test('every released migration is still there', () => {
  expect(found.map(([engine, name]) => `${engine}/${name}`).sort()).toEqual(Object.keys(released).sort())
})
