import { closeSync, openSync } from 'node:fs'

const ownerOnly = 0o600

/**
 * Makes the file, readable by its owner alone, where there is none. A file that exists is not even opened: closing it
 * again would drop every POSIX lock that this process holds on it through SQLite.
 */
export function ensurePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnly))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
