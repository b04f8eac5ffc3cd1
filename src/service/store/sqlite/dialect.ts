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

const wrap = (database: DatabaseSync): SqliteDatabase => ({
  close: () => database.close(),
  prepare(sql: string): SqliteStatement {
    const statement = database.prepare(sql)
    // As plain numbers node:sqlite throws above 2^53, so all are read as bigints and narrowed by the tables' rule.
    statement.setReadBigInts(true)
    return {
      reader: statement.columns().length > 0,
      all: parameters => statement.all(...(parameters as SQLInputValue[])).map(narrowRow),
      run: parameters => statement.run(...(parameters as SQLInputValue[])),
      *iterate(parameters) {
        for (const row of statement.iterate(...(parameters as SQLInputValue[]))) yield narrowRow(row)
      },
    }
  },
})
