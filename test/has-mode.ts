import { statSync } from 'node:fs'

/** Whether a file or folder has these permission bits. Windows has none, so there everything has them. */
export const hasMode = (path: string, mode: number): boolean =>
  process.platform === 'win32' || (statSync(path).mode & 0o777) === mode
