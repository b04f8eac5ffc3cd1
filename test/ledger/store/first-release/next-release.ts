import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { migrations } from '#ledger/store/sqlite/schema/tables.ts'

/** What a later release may do: a new table, a new column, and a table made anew with its rows. */
const statements = [
  'CREATE TABLE note (account TEXT PRIMARY KEY REFERENCES account (id), note TEXT NOT NULL) STRICT, WITHOUT ROWID',
  'INSERT INTO note (account, note) SELECT id, kind FROM account',
  'ALTER TABLE customer ADD COLUMN language TEXT',
  'DROP INDEX limit_log_by_account',
  'DROP INDEX limit_log_by_time',
  'ALTER TABLE limit_log RENAME TO limit_log_before',
  `CREATE TABLE limit_log (
    seq INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    key TEXT,
    model TEXT NOT NULL,
    tier TEXT NOT NULL,
    type TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT`,
  'INSERT INTO limit_log SELECT * FROM limit_log_before',
  'DROP TABLE limit_log_before',
  'CREATE INDEX limit_log_by_account ON limit_log (account, seq)',
  'CREATE INDEX limit_log_by_time ON limit_log (created_at_ms)',
]

/** The migrations of a release that does not exist. */
export const nextRelease: Record<string, Migration> = {
  ...migrations,
  '0999-next-release': {
    async up(database: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(database)
    },
  },
}
