import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteQueryCompiler,
} from 'kysely'
import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import { batchCommitter, slicePruner } from '#ledger/store/sqlite/batch.ts'
import { migrateSqlite } from '#ledger/store/sqlite/open.ts'
import { isMoneyColumn, type Tables } from '#ledger/store/tables.ts'

let tables: Promise<string> | null = null

/** What makes the tables, printed once by the migrations themselves, because running them takes longer than a seed. */
async function printedTables(): Promise<string> {
  const database = new DatabaseSync(':memory:')
  try {
    await migrateSqlite(database, ':memory:')
    const rows = database.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid').all()
    return rows.map(({ sql }) => `${sql};`).join('\n')
  } finally {
    database.close()
  }
}

/**
 * The database of one seed: the real tables, the real units of work, in memory. Whether a commit survives a power cut is
 * tested on a real disk; here a commit is durable by definition.
 */
export class SimulatedDatabase {
  readonly commit: ReturnType<typeof batchCommitter>
  readonly prune: ReturnType<typeof slicePruner>
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  private constructor(database: DatabaseSync) {
    this.#database = database
    this.commit = batchCommitter(database)
    this.prune = slicePruner(database)
  }

  static async open(): Promise<SimulatedDatabase> {
    tables ??= printedTables()
    const sql = await tables
    const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true })
    database.exec(sql)
    return new SimulatedDatabase(database)
  }

  /** Integers as bigints. */
  rows<Row>(sql: string, ...parameters: SQLInputValue[]): Row[] {
    return this.#prepared(sql).all(...parameters) as Row[]
  }

  auditReader(): AuditReader {
    return { rows: (sql, ...parameters) => this.rows(sql, ...parameters), close: () => undefined }
  }

  /** Queries of the service; `answered` decides when, and whether, a result comes back. */
  reader(answered: <Value>(value: Value) => Promise<Value>): Kysely<Tables> {
    const connection: DatabaseConnection = {
      executeQuery: async <Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> => {
        const rows = this.rows<Record<string, unknown>>(sql, ...(parameters as SQLInputValue[]))
        return answered({ rows: rows.map(narrow) as Row[] })
      },
      streamQuery: () => {
        throw new Error('Nothing is streamed from this store.')
      },
    }
    return new Kysely<Tables>({ dialect: new ReadingDialect(connection) })
  }

  close(): void {
    this.#database.close()
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare(sql)
    statement.setReadBigInts(true)
    this.#statements.set(sql, statement)
    return statement
  }
}

/** The rule of the tables: what is no money comes back as a number. */
function narrow(row: Record<string, unknown>): Record<string, unknown> {
  const narrowed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row))
    narrowed[name] = typeof value === 'bigint' && !isMoneyColumn(name) ? Number(value) : value
  return narrowed
}

/** Reads only, and several at once: none waits for the answer of another. */
class ReadingDialect implements Dialect {
  readonly #connection: DatabaseConnection

  constructor(connection: DatabaseConnection) {
    this.#connection = connection
  }

  createAdapter = () => new SqliteAdapter()
  createQueryCompiler = () => new SqliteQueryCompiler()

  createDriver() {
    const refuse = async () => {
      throw new Error('The service reads without transactions.')
    }
    return {
      init: async () => undefined,
      acquireConnection: async () => this.#connection,
      releaseConnection: async () => undefined,
      beginTransaction: refuse,
      commitTransaction: refuse,
      rollbackTransaction: refuse,
      destroy: async () => undefined,
    }
  }

  createIntrospector(): never {
    throw new Error('The service does not look at its tables.')
  }
}
