import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StoreError } from '../store.ts'
import { narrowRow } from '../tables.ts'
import { firstTables } from './migrations/0001-first-tables.ts'
import { budgetsStakingClaims } from './migrations/0002-budgets-staking-claims.ts'
import { keyRoles, limitsOfHolds, receiptKeys, secretMarks } from './migrations/0003-to-0006.ts'

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

/** Kysely over node:sqlite, for reads and migrations. The units of work are written by hand. */
export class NodeSqliteDialect extends SqliteDialect {
  /** Opens at the first query; Kysely's `destroy()` closes what was opened. */
  constructor(open: () => DatabaseSync) {
    super({ database: async () => wrap(open()) })
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalDdlAdapter()
  }
}

/** Without this Kysely's Migrator opens no transaction on SQLite, and a failed migration would stay half done. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** Different reads of a service are some dozens; to prepare one takes longer than to run it. */
const keptStatements = 100

function wrap(database: DatabaseSync): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>()
  return {
    close() {
      kept.clear()
      database.close()
    },
    prepare(sql: string): SqliteStatement {
      const known = kept.get(sql)
      if (known) return known
      const statement = statementOf(database, sql)
      if (kept.size < keptStatements && /^select\b/i.test(sql)) kept.set(sql, statement)
      return statement
    },
  }
}

function statementOf(database: DatabaseSync, sql: string): SqliteStatement {
  const prepare = () => {
    const statement = database.prepare(sql)
    // As plain numbers node:sqlite throws above 2^53, so all are read as bigints and narrowed by the tables' rule.
    statement.setReadBigInts(true)
    return statement
  }
  const statement = prepare()
  return {
    reader: statement.columns().length > 0,
    all: parameters => statement.all(...(parameters as SQLInputValue[])).map(narrowRow),
    run: parameters => statement.run(...(parameters as SQLInputValue[])),
    *iterate(parameters) {
      // One of its own, because rows are taken one by one while the kept one may serve others.
      for (const row of prepare().iterate(...(parameters as SQLInputValue[]))) yield narrowRow(row)
    },
  }
}
