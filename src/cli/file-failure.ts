import { CliError } from './cli-error.ts'

const otherFolder = 'or take another folder: `--data DIR`, and FAREBOX_DATA for the files of an assistant.'

/** What a person can mend about a folder or a disk, by the code of the system's error. */
const sentences: Readonly<Record<string, (path: string) => [sentence: string, nextStep: string]>> = {
  EACCES: path => [`This user may not use ${path}.`, `Let this user read and write there, ${otherFolder}`],
  EPERM: path => [`This user may not use ${path}.`, `Let this user read and write there, ${otherFolder}`],
  EEXIST: path => [`A file stands where a folder is needed: ${path}.`, `Move it away, ${otherFolder}`],
  ENOTDIR: path => [`A file stands where a folder is needed, on the way to ${path}.`, `Move it away, ${otherFolder}`],
  EROFS: path => [`${path} lies on a disk that cannot be written to.`, `Make it writable, ${otherFolder}`],
  ENOSPC: path => [`The disk of ${path} is full.`, `Make room on it, ${otherFolder}`],
}

/** SQLite's primary codes of a file that is damaged, and of one that is no database; the store has them too, and is not loaded here. */
const damageCodes: readonly number[] = [11, 26]

const isDamage = (error: Error): boolean => 'errcode' in error && damageCodes.includes(Number(error.errcode) & 0xff)

/** Commands that only read meet damage at any row; SQLite does not name the file. */
const damagedDatabase = ({ message }: Error): CliError =>
  new CliError(
    `A database in the data folder is damaged (${message}).`,
    'If it is the ledger of a service, stop the service, move `farebox.db` and the files beside it that begin with that name away, then run `farebox restore BACKUP` with your last backup.',
  )

/** A failure of the file system as the person at the terminal reads it; null where it is something else. */
export function fileFailure(error: unknown): CliError | null {
  if (!(error instanceof Error)) return null
  if (isDamage(error)) return damagedDatabase(error)
  const { code, path, syscall } = error as NodeJS.ErrnoException
  const words = code === undefined ? undefined : sentences[code]
  // A socket's EACCES and a process's EPERM are other stories; they name no path.
  if (!words || (path === undefined && code !== 'ENOSPC' && code !== 'EROFS')) return fileFailure(error.cause)
  if (syscall?.startsWith('spawn')) return null
  return new CliError(...words(path ?? 'the data folder'))
}
