import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { accounts } from './0002-unit-functions/accounts.ts'
import { commit } from './0002-unit-functions/commit.ts'
import { entries } from './0002-unit-functions/entries.ts'
import { funds } from './0002-unit-functions/funds.ts'
import { holds } from './0002-unit-functions/holds.ts'
import { moves } from './0002-unit-functions/moves.ts'
import { records } from './0002-unit-functions/records.ts'
import { verdicts } from './0002-unit-functions/verdict.ts'

/** What a batch of units does, in the database itself, so that it is one round trip however many units it has. */
export const unitFunctions: Migration = {
  async up(database: Kysely<unknown>) {
    const all = [...verdicts, ...funds, ...accounts, ...holds, ...entries, ...moves, ...records, ...commit]
    for (const statement of all) await sql.raw(statement).execute(database)
  },
}
