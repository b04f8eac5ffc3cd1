import { createReadStream, createWriteStream, existsSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '#host/files.ts'
import { CliError, fileFailure } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { type LedgerPlace, requireLedger } from '../data/ledger-place.ts'
import { folderFailure, isStoreError, requireNoService } from '../data/service-admin.ts'
import type { Progress } from '../show/progress.ts'
import { restoreSecret, withSecretBeside } from './backup-secret.ts'

/** Copies the ledger into a new file, and the secrets into another if requested. */
export async function backUpSqlite(
  ledger: LedgerPlace,
  from: string,
  file: string,
  withSecret: boolean,
  progress: Progress,
): Promise<void> {
  const path = resolve(file)
  await requireLedger(ledger)
  const { backupSqlite } = await import('#ledger/store/sqlite/backup.ts')
  const copy = () =>
    backupSqlite(from, path, (done, total) => progress.show({ message: 'Copying the ledger', done, total }))
  try {
    await (withSecret ? withSecretBeside(ledger, path, copy) : copy())
  } catch (error) {
    throw backupFailure(error, path)
  }
}

/** Copies a backup into a folder that has no ledger yet, and its secret if it is beside the backup. */
export async function restoreSqlite(
  folder: DataFolder,
  database: string,
  file: string,
  progress: Progress,
): Promise<void> {
  const path = resolve(file)
  if (!existsSync(path))
    throw new CliError(`There is no file ${path}.`, 'Give the path of a file from `farebox backup`.')
  if ((await kindOfBackup(path)) === 'postgres') {
    throw new CliError(
      'This is a backup of a ledger in PostgreSQL.',
      'Set DATABASE_URL to an empty database, then try again.',
    )
  }
  const [{ copyDatabase, requireIntactFile, writeWhole }, { lockFolderOf }] = await Promise.all([
    import('#ledger/store/sqlite/backup.ts'),
    import('#ledger/store/sqlite/connection.ts'),
  ])
  // The file of a service that was killed lacks what is only in the log beside it.
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  requireSoundBackup(path, requireIntactFile)
  try {
    await requireNoService(folder)
    await makeFolder(dirname(database))
    const lock = lockFolderOf(database)
    try {
      // The lock guarantees that no process uses the folder, so what a killed restore left behind can be deleted.
      rmSync(`${database}.part`, { force: true })
      refuseLeftovers(database)
      await writeWhole(database, part =>
        hasLog
          ? copyDatabase(path, part)
          : pipeline(createReadStream(path), countedBytes(path, progress), createWriteStream(part)),
      )
    } finally {
      lock.release()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new CliError(`${folder.root} already has a ledger.`, 'Restore into another folder, with `--data`.')
    }
    throw await folderFailure(error, folder)
  }
  await restoreSecret(folder, path)
}

/** Passes the bytes of a file on, and shows the progress. */
function countedBytes(path: string, progress: Progress) {
  const total = statSync(path).size
  return async function* (bytes: AsyncIterable<Buffer>) {
    let done = 0
    for await (const piece of bytes) {
      done += piece.length
      progress.show({ message: 'Restoring the ledger', done, total })
      yield piece
    }
  }
}

/** A damaged backup is damaged for any folder. */
function requireSoundBackup(path: string, require: (path: string) => void): void {
  try {
    require(path)
  } catch (error) {
    if (!isStoreError(error)) throw error
    throw new CliError(error.message, 'Restore another file from `farebox backup`.')
  }
}

/** SQLite would apply the log of a former database to the restored one. */
function refuseLeftovers(database: string): void {
  const left = ['-wal', '-shm', '-journal'].map(end => database + end).filter(path => existsSync(path))
  if (existsSync(database) || !left.length) return
  throw new CliError(
    `${left.join(' and ')} of an earlier ledger would damage the restored one.`,
    'Move these files away, or restore into another folder with `--data`.',
  )
}

/** SQLite's primary codes for a disk that is full or failing. */
const sqliteFull = 13
const sqliteIoError = 10

export function backupFailure(error: unknown, path: string): unknown {
  if (error instanceof CliError) return error
  if (isStoreError(error)) {
    return new CliError(error.message, 'Run `farebox ledger audit`, and keep the backups that you have.')
  }
  const { code, path: about = path, errcode = 0 } = error as NodeJS.ErrnoException & { errcode?: number }
  if (code === 'EEXIST') {
    const unfinished = about.endsWith('.part')
    return unfinished
      ? new CliError(`There is an unfinished backup at ${about}.`, 'Remove it, unless a backup is running right now.')
      : new CliError(`${about} already exists.`, 'Choose another file: a backup never overwrites one.')
  }
  if (code === 'ENOENT')
    return new CliError(`There is no folder ${dirname(path)}.`, 'Create it, or choose another file.')
  if ([sqliteFull, sqliteIoError].includes(errcode & 0xff))
    return new CliError(
      `The disk for ${basename(path)} is full or failing.`,
      'Free some space, or give a file on another disk.',
    )
  const failure = fileFailure(error)
  const isOfFile = (error as NodeJS.ErrnoException).path?.startsWith(path)
  if (!failure || !isOfFile) return failure ?? error
  const fix = code === 'ENOSPC' ? 'Free some space' : 'Make it writable'
  return new CliError(failure.message, `${fix}, or give a file in another folder.`)
}

/** The first bytes of a file of each kind: `pg_dump`'s own format, and SQLite's. */
const beginnings = { postgres: 'PGDMP', sqlite: 'SQLite format 3\0' } as const

/** Returns the kind of ledger in a backup, by its first bytes; null if it is neither. */
export async function kindOfBackup(path: string): Promise<keyof typeof beginnings | null> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0)
    const start = buffer.toString('latin1', 0, bytesRead)
    for (const kind of ['postgres', 'sqlite'] as const) if (start.startsWith(beginnings[kind])) return kind
    return null
  } finally {
    await file.close()
  }
}
