import { createReadStream, createWriteStream, existsSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '#host/files.ts'
import { CliError, fileFailure } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { type LedgerPlace, requireLedger } from '../data/ledger-place.ts'
import { folderFailure, folderInUse, isStoreError, runningService } from '../data/service-admin.ts'
import { restoreSecret, withSecretBeside } from './backup-secret.ts'

/** Copies the ledger into a new file, and the secrets into another where they are asked for. */
export async function backUpSqlite(
  ledger: LedgerPlace,
  from: string,
  file: string,
  withSecret: boolean,
): Promise<void> {
  const path = resolve(file)
  await requireLedger(ledger)
  const { backupSqlite } = await import('#ledger/store/sqlite/backup.ts')
  const copy = () => backupSqlite(from, path)
  try {
    await (withSecret ? withSecretBeside(ledger, path, copy) : copy())
  } catch (error) {
    throw backupFailure(error, path)
  }
}

/** Puts a backup into a folder that has no ledger yet, and its secret where that lies beside it. */
export async function restoreSqlite(folder: DataFolder, database: string, file: string): Promise<void> {
  const path = resolve(file)
  if (!existsSync(path))
    throw new CliError(`There is no file ${path}.`, 'Give the path of a file from `farebox backup`.')
  if ((await kindOfBackup(path)) === 'postgres') {
    throw new CliError(
      'This is a backup of a ledger in PostgreSQL.',
      'Set DATABASE_URL to an empty database, then repeat this.',
    )
  }
  const [{ requireIntactFile, writeWhole }, { lockFolderOf }] = await Promise.all([
    import('#ledger/store/sqlite/backup.ts'),
    import('#ledger/store/sqlite/connection.ts'),
  ])
  requireSoundBackup(path, requireIntactFile)
  try {
    const running = await runningService(folder)
    if (running) throw folderInUse(folder, running)
    await makeFolder(dirname(database))
    const lock = lockFolderOf(database)
    try {
      // The lock says that nobody is at it: what is left of a restore that was killed is rubbish.
      rmSync(`${database}.part`, { force: true })
      refuseLeftovers(database)
      await writeWhole(database, part => pipeline(createReadStream(path), createWriteStream(part)))
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

/** What is wrong with a backup no other folder can change. */
function requireSoundBackup(path: string, require: (path: string) => void): void {
  try {
    require(path)
  } catch (error) {
    if (!isStoreError(error)) throw error
    throw new CliError(error.message, 'Restore another file from `farebox backup`.')
  }
}

/** SQLite would take the log of a former database for the restored one's, and change it by what stands there. */
function refuseLeftovers(database: string): void {
  const left = ['-wal', '-shm', '-journal'].map(end => database + end).filter(path => existsSync(path))
  if (existsSync(database) || !left.length) return
  throw new CliError(
    `${left.join(' and ')} of an earlier ledger would damage the restored one.`,
    'Move these files away, or restore into another folder with `--data`.',
  )
}

/** SQLite's primary codes for a disk that is full, or that fails. */
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
      : new CliError(`${about} exists already.`, 'Choose another file: a backup never overwrites one.')
  }
  if (code === 'ENOENT')
    return new CliError(`There is no folder ${dirname(path)}.`, 'Create it, or choose another file.')
  if ([sqliteFull, sqliteIoError].includes(errcode & 0xff))
    return new CliError(
      `The disk for ${basename(path)} is full or failing.`,
      'Free some space, or give a file on another disk.',
    )
  return fileFailure(error) ?? error
}

/** How a file of each kind begins: `pg_dump`'s own format, and SQLite's. */
const beginnings = { postgres: 'PGDMP', sqlite: 'SQLite format 3\0' } as const

/** Which kind of ledger a backup is of, by its first bytes; null where it is of neither. */
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
