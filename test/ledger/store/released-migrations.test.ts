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
import { migrations as sqliteMigrations } from '#ledger/store/sqlite/open.ts'

/** SHA-256 of all statements of each migration, its first 16 digits. A line is added with a migration, and never changed. */
const released: Record<string, string> = {
  'postgres/0001-first-tables': 'e050458ca91cafb4',
  'postgres/0002-unit-functions': '330758841727b2a6',
  'postgres/0003-entry-change-code': 'd4a0c7660e667554',
  'postgres/0004-secret-marks': '7f644b59a285b5ea',
  'postgres/0005-plain-units': '5d3d0e2024a18ef9',
  'postgres/0006-accounts-stay': '6edf0452986fd803',
  'postgres/0007-receipt-keys': 'e152fb54d386421e',
  'postgres/0008-moved-holds': 'f68f8228f3c8a38d',
  'postgres/0009-key-roles': '4dd6e64001e789d1',
  'postgres/0010-key-changes': '2f45b1610cef4592',
  'postgres/0011-limit-ring': '73694d247dad1df4',
  'postgres/0012-limits-of-holds': '4922e7e7d08ea7b0',
  'postgres/0013-folded-entries': '7beec7bc6a567b02',
  'postgres/0014-customers': 'c4660190b46f940b',
  'postgres/0015-day-sums': '3a04e95a923c5908',
  'postgres/0016-own-schema': '7284244e75bbf9c1',
  'postgres/0017-operators': 'a776fe310e4a5eef',
  'sqlite/0001-first-tables': '826390911ef5a827',
  'sqlite/0002-budgets-staking-claims': 'cfddc14de8981b44',
  'sqlite/0003-secret-marks': '1862a339d68c9442',
  'sqlite/0004-receipt-keys': '59ac5bc65a95ec0d',
  'sqlite/0005-key-roles': 'ba8987e3056ef346',
  'sqlite/0006-limits-of-holds': '8f4d1de2b448cbd9',
  'sqlite/0007-small-entries': 'd15527fcc022a1f6',
  'sqlite/0008-folded-entries': '1a50bb5d932802c7',
  'sqlite/0009-customers': 'b53691289334ba1b',
  'sqlite/0010-day-sums': '985218a4a57e822a',
  'sqlite/0011-operators': 'e2bd8e8912e9360c',
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
