import { DatabaseSync } from 'node:sqlite'
import { busyTimeoutMs, checkpointPages, writerCacheKiB } from '../bounds.ts'
import { StoreError } from '../store-error.ts'
import { ensurePrivateFile } from './private-file.ts'

/** What `PRAGMA synchronous` answers for FULL. */
const synchronousFull = 2

/** A connection that may write: durable to the disk at each commit, or not opened at all. */
export function openForWriting(path: string): DatabaseSync {
  // SQLite gives its WAL the mode of the database, so this keeps both from other users.
  ensurePrivateFile(path)
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode
  // Pictures of people are among what is deleted; without this their bytes stay in the file until something overwrites them.
  database.exec('PRAGMA secure_delete = ON')
  database.exec(`PRAGMA synchronous = FULL; PRAGMA cache_size = -${writerCacheKiB}`)
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  const synchronous = database.prepare('PRAGMA synchronous').get()?.synchronous
  const foreignKeys = database.prepare('PRAGMA foreign_keys').get()?.foreign_keys
  if (journal === 'wal' && synchronous === synchronousFull && foreignKeys === 1) return database
  database.close()
  throw new StoreError(
    'unusable_database',
    `The database ${path} cannot be used: it does not take WAL with full syncs. Put it on a local disk.`,
  )
}

/** A connection that only reads; it sees what was committed when a statement starts, and never waits for the writer. */
export function openForReading(path: string): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
}
