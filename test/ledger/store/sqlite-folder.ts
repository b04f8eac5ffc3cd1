import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { OpenedStore } from './store-contract.ts'

export function temporaryFolder(): { path: string; folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'farebox-store-'))
  return { folder, path: join(folder, 'farebox.db'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Runs statements on the file, behind the back of any store. */
export function tamperWith(path: string, sql: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  try {
    database.exec(sql)
  } finally {
    database.close()
  }
}

export async function openTemporaryStore(): Promise<OpenedStore & { path: string }> {
  const { path, remove } = temporaryFolder()
  let store = await openSqliteStore({ path })
  return {
    store,
    path,
    async reopen() {
      await store.close()
      store = await openSqliteStore({ path })
      return store
    },
    tamper: sql => tamperWith(path, sql),
    async dispose() {
      await store.close()
      remove()
    },
  }
}
