import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabasePlace } from '#ledger/store/open-store.ts'
import { CliError } from './cli-error.ts'
import { type DataFolder, readFileIfThere, writePrivateFile } from './data-folder.ts'

/** Says that the books of a folder are in PostgreSQL, and in which database: never with a user or a password. */
const markOf = (folder: DataFolder): string => join(dirname(folder.database), 'books-in-postgresql')

/** Lets a folder remember that its books are elsewhere, so that no empty ones are begun where DATABASE_URL is forgotten. */
export async function noteBooksPlace(folder: DataFolder, database: DatabasePlace): Promise<void> {
  if (database.engine !== 'postgres') return
  const { host, pathname } = new URL(database.url)
  const place = `${host}${pathname}\n`
  if ((await readFileIfThere(markOf(folder))) !== place) await writePrivateFile(markOf(folder), place)
}

/** Throws where DATABASE_URL is not set, and the books of the folder are in PostgreSQL. */
export async function requireBooksHere(folder: DataFolder): Promise<void> {
  const place = await readFileIfThere(markOf(folder))
  if (place === null) return
  throw new CliError(
    `The books of the service in ${folder.root} are in PostgreSQL (${place.trim()}), and DATABASE_URL is not set.`,
    `Set DATABASE_URL as the service has it, or take another folder with \`--data\`; only where those books are given up, remove ${markOf(folder)}.`,
  )
}

/** Throws where a start on PostgreSQL would leave books in the folder behind. */
export async function requireNoBooksHere(folder: DataFolder): Promise<void> {
  if ((await readFileIfThere(markOf(folder))) !== null || !(await hasAccounts(folder.database))) return
  throw new CliError(
    `The books of the service in ${folder.root} are in its folder, and DATABASE_URL names another database.`,
    'Unset DATABASE_URL to go on with them, or take another folder with `--data` for the books in PostgreSQL.',
  )
}

/** Nobody has money in books without accounts. Those that cannot be read may have some. */
async function hasAccounts(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  const { sqliteAuditReader } = await import('#ledger/audit/audit-reader.ts')
  try {
    const reader = sqliteAuditReader(path)
    try {
      for await (const _ of reader.rows('SELECT id FROM account LIMIT 1')) return true
      return false
    } finally {
      await reader.close()
    }
  } catch {
    return true
  }
}
