import type { AuditReader } from '#service/ledger/audit-reader.ts'
import { CliError } from './cli-error.ts'
import { type DataFolder, dataFolder } from './data-folder.ts'
import { requireSecrets } from './folder-service.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where the books of a service are. */
export type Books = { kind: 'folder'; folder: DataFolder } | { kind: 'postgres'; url: string }

/** PostgreSQL where DATABASE_URL says so, else the folder. The address comes by the environment alone: it has a password. */
export function booksOf(data: string, env: Environment): Books {
  const url = env.DATABASE_URL ?? ''
  if (/^postgres(ql)?:/.test(url)) return { kind: 'postgres', url }
  return { kind: 'folder', folder: dataFolder(data) }
}

/** Reads the books as they are now, beside a service that writes. Whoever opens it closes it. */
export async function openReader(books: Books): Promise<AuditReader> {
  if (books.kind === 'folder') {
    await requireSecrets(books.folder)
    const { sqliteAuditReader } = await import('#service/ledger/audit-reader.ts')
    return sqliteAuditReader(books.folder.database)
  }
  throw new CliError('Books on PostgreSQL cannot be read yet.', 'Unset DATABASE_URL.')
}

/** Whether a statement failed because the tables are those of another release. */
export const isOtherSchema = (error: unknown): boolean =>
  error instanceof Error && /no such (table|column)|(relation|column) .* does not exist/.test(error.message)

/** What is said then. */
export const otherSchema = (): CliError =>
  new CliError(
    'The tables are those of another release.',
    'Start the service of this release once, or run the command of that one.',
  )
