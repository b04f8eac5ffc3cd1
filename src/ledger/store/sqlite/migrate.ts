import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StoreError } from '../store-error.ts'
import { NodeSqliteDialect } from './dialect.ts'
import { firstTables } from './migrations/0001-first-tables.ts'
import { budgetsStakingClaims } from './migrations/0002-budgets-staking-claims.ts'
import { secretMarks } from './migrations/0003-secret-marks.ts'
import { receiptKeys } from './migrations/0004-receipt-keys.ts'
import { keyRoles } from './migrations/0005-key-roles.ts'
import { limitsOfHolds } from './migrations/0006-limits-of-holds.ts'

/** In order of their names. A migration that has been released is never changed; the next one mends it. */
export const migrations: Record<string, Migration> = {
  '0001-first-tables': firstTables,
  '0002-budgets-staking-claims': budgetsStakingClaims,
  '0003-secret-marks': secretMarks,
  '0004-receipt-keys': receiptKeys,
  '0005-key-roles': keyRoles,
  '0006-limits-of-holds': limitsOfHolds,
}

/** Brings the tables up to date, whole or not at all. The database stays open. */
export async function migrateSqlite(database: DatabaseSync, path: string, steps = migrations): Promise<void> {
  const kysely = new Kysely<unknown>({ dialect: new NodeSqliteDialect(() => database) })
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => steps } })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find(result => result.status === 'Error')?.migrationName
  const why = failed
    ? `migration ${failed} failed and was undone`
    : 'its migrations are not the ones of this version; it may have been written by a newer one'
  throw new StoreError(
    'unusable_database',
    `The database ${path} cannot be used: ${why}. Restore a backup or update.`,
    {
      cause: error,
    },
  )
}
