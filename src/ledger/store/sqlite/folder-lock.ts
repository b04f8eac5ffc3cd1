import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../store-error.ts'
import { ensurePrivateFile } from './private-file.ts'

/** SQLite's primary code for "another connection holds the lock". */
const sqliteBusy = 5

/**
 * Guards that one service process owns a folder: an exclusive transaction held open on `lock.db`. The operating system
 * drops it with the process, even after kill -9, so there is no stale lock to clear.
 */
export function lockFolderOf(databasePath: string): { release(): void } {
  const folder = dirname(databasePath)
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
