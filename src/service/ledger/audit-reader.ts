import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** What an audit reads with: plain SQL over one snapshot, integers as bigints. */
export interface AuditReader {
  rows<Row>(sql: string, ...parameters: (string | bigint)[]): Iterable<Row> | AsyncIterable<Row>
  close(): void | Promise<void>
}

/** How long a read waits where a checkpoint or a backup is in its way. */
const busyTimeoutMs = 5_000

/** A reader of its own, so that an audit trusts nothing of the store; it may run while a service writes. */
export function sqliteAuditReader(path: string): AuditReader {
  if (!existsSync(path)) throw new Error(`There is no database at ${path}; give the path of the service's database.`)
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
  // One transaction for all statements: otherwise a commit between two of them would look like drift.
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
