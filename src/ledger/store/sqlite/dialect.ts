import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import { narrowRow } from '../narrow-row.ts'

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
