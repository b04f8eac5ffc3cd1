import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { syncFile, syncFolder } from '#host/files.ts'
import { backupPages, busyTimeoutMs } from '../../bounds.ts'
import { StoreError } from '../store.ts'

const ownerOnly = 0o600

/** How many pages of the database are copied. */
export type OnPages = (done: number, total: number) => void

/**
 * Copies a database in its current state into a new file, even while a service writes to it. The copy is complete,
 * synced, verified and readable only by its owner; it appears under its name at once or not at all. Throws `StoreError`
 * (`unusable_database`) for a damaged source, and Node's `EEXIST` if the name is taken.
 */
export async function backupSqlite(from: string, to: string, onPages?: OnPages): Promise<void> {
  if (!existsSync(from)) throw new StoreError('unusable_database', `There is no database at ${from}.`)
  await writeWhole(to, part => copyDatabase(from, part, onPages))
}

/** Lets `write` fill a new private file, then gives it its name. Throws `EEXIST` if the name is taken. */
export async function writeWhole(path: string, write: (part: string) => Promise<void>): Promise<void> {
  if (existsSync(path)) throw Object.assign(new Error(`${path} exists.`), { code: 'EEXIST', path })
  const part = `${path}.part`
  closeSync(openSync(part, 'wx', ownerOnly))
  try {
    await write(part)
    await syncFile(part)
    giveName(part, path)
  } finally {
    rmSync(part, { force: true })
    rmSync(`${part}-journal`, { force: true })
  }
  await syncFolder(dirname(path))
}

/** Uses a link, because a rename would replace a file that appeared meanwhile. */
function giveName(part: string, path: string): void {
  try {
    linkSync(part, path)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    // Some portable disks do not support links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code) || existsSync(path)) throw error
    renameSync(part, path)
  }
}

/** Copies a database, with what is only in its log, into an empty file, and verifies the copy. */
export async function copyDatabase(from: string, to: string, onPages: OnPages = () => undefined): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: busyTimeoutMs })
  try {
    // Copying a database that changes starts again at each change; copying a snapshot does not.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    const progress = ({ totalPages, remainingPages }: { totalPages: number; remainingPages: number }) =>
      onPages(totalPages - remainingPages, totalPages)
    await backup(source, to, { rate: backupPages, progress })
  } finally {
    source.close()
  }
  const copied = new DatabaseSync(to)
  try {
    // A single file that can be read anywhere, without a log beside it.
    copied.exec('PRAGMA journal_mode = DELETE')
    requireIntact(copied, from)
  } finally {
    copied.close()
  }
}

/** Throws `unusable_database` unless the file is an intact database of this service. */
export function requireIntactFile(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
  try {
    requireIntact(database, path)
  } finally {
    database.close()
  }
}

function requireIntact(database: DatabaseSync, path: string): void {
  const why = whyDamaged(database)
  if (why === null) return
  throw new StoreError('unusable_database', `The database ${path} cannot be used: ${why}.`)
}

function whyDamaged(database: DatabaseSync): string | null {
  try {
    const check = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
    if (check !== 'ok') return 'SQLite finds it damaged'
    if (database.prepare('PRAGMA foreign_key_check').get()) return 'rows refer to missing rows'
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'entry'").get()
    return table ? null : 'it contains no farebox ledger'
  } catch {
    return 'it is not an SQLite database, or is damaged'
  }
}
