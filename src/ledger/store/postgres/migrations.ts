import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { accountFunctions } from './functions/accounts.ts'
import { batchFunctions } from './functions/commit-batch.ts'
import { entryFunctions } from './functions/entries.ts'
import { foldFunctions } from './functions/folding.ts'
import { holdFunctions } from './functions/holds.ts'
import { operationFunctions } from './functions/operations.ts'
import { plainUnitFunctions } from './functions/plain-units.ts'
import { recordFunctions } from './functions/records.ts'
import { resultTypes } from './functions/results.ts'
import { workFunctions } from './functions/work.ts'
import { moneyTables } from './schema/money-tables.ts'
import { workTables } from './schema/work-tables.ts'

/** Tables come before the types that contain their rows, and types before the functions that return them. */
const statements = [
  ...[...moneyTables, ...workTables, ...resultTypes],
  ...[...accountFunctions, ...holdFunctions, ...entryFunctions, ...workFunctions, ...recordFunctions],
  ...[...operationFunctions, ...plainUnitFunctions, ...batchFunctions, ...foldFunctions],
]

const firstRelease: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
}

/**
 * Applied in the order of their names. A database never applies one twice, so a released migration never changes: the
 * next release adds another, which makes its changes to the tables and functions of the first. Processes of two
 * releases share a database while one replaces the other, so functions keep accepting what the previous release sends.
 */
export const migrations: Record<string, Migration> = {
  '0001-first-release': firstRelease,
}
