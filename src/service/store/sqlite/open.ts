import { dirname, resolve } from 'node:path'
import { Kysely } from 'kysely'
import { makeFolder } from '../../durable-files.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { openForReading, openForWriting } from './connection.ts'
import { NodeSqliteDialect } from './dialect.ts'
import { lockFolderOf } from './folder-lock.ts'
import { migrateSqlite } from './migrate.ts'
import { SqliteWriter } from './writer.ts'
import { writerThreadUrl } from './writer-thread-url.ts'

export interface SqliteStoreOptions {
  /** The database's file; its folder is made where there is none, and belongs to this process until the store closes. */
  path: string
}

/** Throws `folder_in_use` where another service process owns the folder, `unusable_database` where it cannot be trusted. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const path = resolve(options.path)
  await makeFolder(dirname(path))
  const lock = lockFolderOf(path)
  try {
    await migrate(path)
    const writer = await SqliteWriter.start({ path }, writerThreadUrl())
    return storeOf(writer, openSqliteReader(path), lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

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
