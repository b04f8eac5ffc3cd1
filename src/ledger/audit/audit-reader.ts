import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** How an audit reads: plain SQL over one snapshot, integers as bigints. */
export interface AuditReader {
  rows<Row>(sql: string, ...parameters: (string | bigint)[]): Iterable<Row> | AsyncIterable<Row>
  close(): void | Promise<void>
}

/** How long a read waits for a checkpoint or a backup. */
const busyTimeoutMs = 5_000

/** Opens a separate reader, so that an audit trusts no code of the store; it may run while a service writes. */
export function sqliteAuditReader(path: string): AuditReader {
  if (!existsSync(path)) throw new Error(`There is no database at ${path}; give the path of the service's database.`)
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
  // One transaction for all statements, because a commit between two of them would look like drift.
  database.exec('BEGIN')
  return {
    rows<Row>(sql: string, ...parameters: (string | bigint)[]) {
      const statement = database.prepare(sql)
      statement.setReadBigInts(true)
      return statement.iterate(...parameters) as Iterable<Row>
    },
    close: () => database.close(),
  }
}

/** Rows per fetch: the ledger may be larger than memory. */
const fetchedRows = 1_000

/** The schema of a service's tables. */
const defaultSchema = 'farebox'

/**
 * Opens one snapshot of a PostgreSQL database, from which rows are read by cursor. Throws the driver's own error if it
 * cannot connect.
 */
export async function postgresAuditReader(url: string, schema = defaultSchema): Promise<AuditReader> {
  const { default: driver } = await import('pg')
  const client = new driver.Client({ connectionString: url, application_name: 'farebox audit' })
  // An error between queries shows up in the next query.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // Providers set a limit of a minute or two for each role, which an audit of a large ledger exceeds.
    const settings = "SELECT set_config('search_path', $1, true), set_config('statement_timeout', '0', true)"
    await client.query(settings, [`"${schema}"`])
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  let cursors = 0
  return {
    async *rows<Row>(sql: string, ...parameters: (string | bigint)[]) {
      const cursor = `audit_${++cursors}`
      await client.query(`DECLARE ${cursor} CURSOR FOR ${numbered(sql)}`, parameters)
      const types = { getTypeParser: (oid: number) => (wholeNumbers.has(oid) ? BigInt : String) as never }
      for (;;) {
        const { rows } = await client.query({ text: `FETCH ${fetchedRows} FROM ${cursor}`, types })
        yield* rows as Row[]
        if (rows.length < fetchedRows) break
      }
      await client.query(`CLOSE ${cursor}`)
    },
    close: () => client.end(),
  }
}

/** `int8`, `int2`, `int4` and `numeric`, which is the type of sums of integers. */
const wholeNumbers = new Set([20, 21, 23, 1700])

/** Converts SQLite's question marks to PostgreSQL's numbered parameters. */
function numbered(sql: string): string {
  let place = 0
  return sql.replace(/\?/g, () => `$${++place}`)
}
