import { closeSync, existsSync, openSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { busyTimeoutMs, checkpointPages, writerCacheKiB } from '../../bounds.ts'
import { StoreError } from '../store.ts'

/** The answer of `PRAGMA synchronous` for FULL. */
const synchronousFull = 2

/** Opens a connection that may write: synced to disk at each commit, or not opened at all. */
export function openForWriting(path: string): DatabaseSync {
  // SQLite gives its WAL the database's file mode, so this protects both from other users.
  ensurePrivateFile(path)
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
  try {
    requireSyncs(database, path)
    return database
  } catch (error) {
    // Windows lets nobody move a file that is open.
    database.close()
    throw error
  }
}

function requireSyncs(database: DatabaseSync, path: string): void {
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode
  // Deleted data includes images of people; without this their bytes stay in the file until they are overwritten.
  database.exec('PRAGMA secure_delete = ON')
  database.exec(`PRAGMA synchronous = FULL; PRAGMA cache_size = -${writerCacheKiB}`)
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  const synchronous = database.prepare('PRAGMA synchronous').get()?.synchronous
  const foreignKeys = database.prepare('PRAGMA foreign_keys').get()?.foreign_keys
  if (journal === 'wal' && synchronous === synchronousFull && foreignKeys === 1) return
  throw new StoreError(
    'unusable_database',
    `The database ${path} cannot be used: it does not support WAL with full syncs. Put it on a local disk.`,
  )
}

/**
 * Opens a connection that only reads; it sees what was committed when a statement starts, and never waits for the
 * writer.
 */
export function openForReading(path: string): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
}

/** SQLite's primary code for "another connection holds the lock". */
const sqliteBusy = 5

/**
 * Ensures that one service process owns a folder: an exclusive transaction is held open on `lock.db`. The operating
 * system ends it with the process, even after kill -9, so there is no stale lock to clear.
 */
export function lockFolderOf(databasePath: string): { release(): void } {
  // A link to the file of another folder must meet that folder's lock.
  const folder = dirname(existsSync(databasePath) ? realpathSync(databasePath) : databasePath)
  const path = join(folder, 'lock.db')
  ensurePrivateFile(path)
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode !== sqliteBusy) throw error
    throw new StoreError(
      'folder_in_use',
      `Another service process is using the folder ${folder}; stop it first, or choose another folder.`,
      { cause: error },
    )
  }
  return { release: () => lock.close() }
}

const ownerOnly = 0o600

/**
 * Creates the file, readable only by its owner, if missing. An existing file is not even opened, because closing it
 * would drop every POSIX lock that this process has on it through SQLite.
 */
function ensurePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnly))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
