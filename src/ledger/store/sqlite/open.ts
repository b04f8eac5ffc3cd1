import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Kysely } from 'kysely'
import { makeFolder, syncFolder } from '#host/files.ts'
import { threadUrl } from '#host/threads/thread-entry.ts'
import { isDamage, type Store, StoreError } from '../store.ts'
import type { Tables } from '../tables.ts'
import { lockFolderOf, openForReading, openForWriting } from './connection.ts'
import { migrateSqlite, NodeSqliteDialect } from './migrate.ts'
import { SqliteWriter } from './writer.ts'

const ownerOnlyFile = 0o600

export interface SqliteStoreOptions {
  /** The database's file; its folder is made where there is none, and belongs to this process until the store closes. */
  path: string
}

/** Throws `folder_in_use` where another service process owns the folder, `unusable_database` where it cannot be trusted, `damaged_database` where it cannot be read. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const path = resolve(options.path)
  await makeFolder(dirname(path))
  const lock = lockFolderOf(path)
  try {
    await requireItsLedger(path)
    await migrate(path)
    await noteLedger(path)
    const writer = await SqliteWriter.start({ path }, threadUrl('sqlite-writer-thread', import.meta.url))
    return storeOf(writer, openSqliteReader(path), lock)
  } catch (error) {
    lock.release()
    throw isDamage(error) ? damaged(path, 'is damaged', error) : error
  }
}

/** Says that the folder has a ledger, so that an empty or missing file is not taken for a new one. */
const noteOf = (path: string): string => `${path}.made`

/** Throws `damaged_database` where the folder had a ledger and its file is gone or empty: nobody’s credit begins again at nothing. */
async function requireItsLedger(path: string): Promise<void> {
  if (!existsSync(noteOf(path))) return
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size === undefined)
    throw damaged(path, `is gone; if you mean to begin with an empty ledger, delete ${noteOf(path)}`)
  if (size === 0) throw damaged(path, 'is empty')
}

async function noteLedger(path: string): Promise<void> {
  if (existsSync(noteOf(path))) return
  closeSync(openSync(noteOf(path), 'w', ownerOnlyFile))
  await syncFolder(dirname(path))
}

const damaged = (path: string, how: string, cause?: unknown): StoreError =>
  new StoreError(
    'damaged_database',
    `The ledger’s file ${path} ${how}${cause instanceof Error ? ` (${cause.message})` : ''}.`,
    { cause },
  )

/** Reads a database, also while a service runs on it. `destroy()` closes it. */
export const openSqliteReader = (path: string): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new NodeSqliteDialect(() => openForReading(path)) })

async function migrate(path: string): Promise<void> {
  const database = openForWriting(path)
  try {
    await migrateSqlite(database, path)
  } finally {
    database.close()
  }
}

function storeOf(writer: SqliteWriter, read: Kysely<Tables>, lock: { release(): void }): Store {
  let closed: Promise<void> | null = null
  const close = async () => {
    await writer.close()
    await read.destroy()
    lock.release()
  }
  return {
    read,
    // The lock of its folder says so, and ends with its process.
    soleOwner: true,
    commit: units => writer.commit(units),
    prune: (slice, rows) => writer.prune(slice, rows),
    close() {
      closed ??= close()
      return closed
    },
  }
}
