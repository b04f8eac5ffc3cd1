import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Files of tests that share a process share these too. */
const made: string[] = []

/** A new folder, which is removed after the last test of the file; `name` says what it is for. */
export function temporaryFolder(name = 'test'): string {
  // Without links, and on Windows without short names, as the product reports its files.
  const folder = mkdtempSync(join(realpathSync.native(tmpdir()), `farebox-${name}-`))
  made.push(folder)
  return folder
}

export function removeTemporaryFolders(): void {
  for (const folder of made.splice(0)) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    } catch (error) {
      // Windows removes no database that a test has left open.
      if (process.platform !== 'win32') throw error
    }
  }
}
