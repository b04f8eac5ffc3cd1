import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { accountTables } from './schema/account-tables.ts'
import { entryTables } from './schema/entry-tables.ts'
import { workTables } from './schema/work-tables.ts'

/** One statement each, because a prepared statement ignores what follows its first semicolon. */
const firstRelease: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...accountTables, ...entryTables, ...workTables])
      await sql.raw(statement).execute(database)
  },
}

/**
 * Applied in the order of their names. A database never applies one twice, so a released migration never changes: the
 * next release adds another, which makes its changes to the tables of the first.
 */
export const migrations: Record<string, Migration> = {
  '0001-first-release': firstRelease,
}
