import { rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { CliError } from '../command.ts'
import { type DataFolder, readFileIfThere } from '../data/data-folder.ts'
import { environmentSecrets, readFolderSecrets, type Secrets } from '../data/folder-secrets.ts'
import { isOtherSchema, type LedgerPlace, openReader, requireSecrets } from '../data/ledger-place.ts'
import { wrongSecret } from '../data/service-admin.ts'

/** The file next to a backup with its service's secrets, if they were requested. */
export const secretFileOf = (file: string): string => `${file}.secret`

/**
 * Runs a backup into this path with the service's secrets beside it, both or neither. Throws if they are not the
 * ledger's own.
 */
export async function withSecretBeside(ledger: LedgerPlace, path: string, backUp: () => Promise<void>): Promise<void> {
  const secrets = await requireSecrets(ledger)
  const problem = await problemOf(ledger, secrets)
  if (problem) throw problem
  const { writeWhole } = await import('#ledger/store/sqlite/backup.ts')
  await writeWhole(secretFileOf(path), part => writeFile(part, `${secrets.join('\n')}\n`))
  await backUp().catch(error => {
    rmSync(secretFileOf(path), { force: true })
    throw error
  })
}

/** Copies the secrets beside a backup into a folder that has none. */
export async function restoreSecret(folder: DataFolder, path: string): Promise<void> {
  const kept = await readFileIfThere(secretFileOf(path))
  if (kept === null || (await readFileIfThere(folder.secret)) !== null) return
  const { writePrivateFile } = await import('../data/data-folder.ts')
  await writePrivateFile(folder.secret, kept)
}

/** Returns what prevents a restored ledger's first start; null if the current secret is its own. */
export async function missingSecret(ledger: LedgerPlace): Promise<string | null> {
  const { folder, env } = ledger
  const secrets = env.FAREBOX_SECRET ? environmentSecrets(env) : await readFolderSecrets(folder)
  if (secrets) {
    const problem = await problemOf(ledger, secrets)
    return problem && `${problem.message} ${problem.nextStep}`
  }
  return `The backup contains no secret: before the first start, put the former service's secret into ${folder.secret} or FAREBOX_SECRET. Only if it is lost, create a new one with \`farebox keys rotate-secret --break-keys\`.`
}

/** Returns null if the ledger records one of these secrets, or none yet. */
async function problemOf(ledger: LedgerPlace, secrets: Secrets): Promise<CliError | null> {
  const { marksOf, requireKnown, WrongSecret } = await import('#access/keys/server-secret.ts')
  const known = await lastMark(ledger)
  try {
    if (known) requireKnown(known, marksOf(secrets))
    return null
  } catch (error) {
    if (error instanceof WrongSecret) return wrongSecret(error)
    throw error
  }
}

async function lastMark(ledger: LedgerPlace): Promise<{ mark: string; place: string } | null> {
  const reader = await openReader(ledger)
  try {
    const newest = 'SELECT mark, place FROM secret_mark ORDER BY generation DESC LIMIT 1'
    for await (const row of reader.rows<{ mark: string; place: string }>(newest)) return row
    return null
  } catch (error) {
    if (isOtherSchema(error)) return null
    throw error
  } finally {
    await reader.close()
  }
}
