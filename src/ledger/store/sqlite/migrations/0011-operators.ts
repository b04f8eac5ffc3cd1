import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const table = `CREATE TABLE operator (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  epoch TEXT NOT NULL,
  proofs TEXT NOT NULL,
  fence INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  changed_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID`

/** Operators with a name, who sign in to the console without a terminal. */
export const operators: Migration = {
  async up(database: Kysely<unknown>) {
    await sql.raw(table).execute(database)
  },
}
