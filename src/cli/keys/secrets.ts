import { type Books, requireSecrets } from '../books.ts'
import { CliError } from '../cli-error.ts'
import { folderInUse } from '../folder-in-use.ts'
import { rotateFolderSecret, writeFolderSecrets } from '../folder-secrets.ts'
import { openOnBooks } from '../operator.ts'
import { runningService } from '../service-admin.ts'

/** A running service reads its secrets at its start alone: what changed under it would end the keys that it makes. */
async function requireStopped({ folder, env }: Books): Promise<void> {
  if (env.FAREBOX_SECRET) {
    throw new CliError(
      'The secret is set by the environment.',
      'Put a new one into FAREBOX_SECRET and the present one into FAREBOX_FORMER_SECRET, then restart the service.',
    )
  }
  const running = await runningService(folder)
  if (running) throw folderInUse(folder, running)
}

/** Puts a new secret before the others; says what comes next. */
export async function rotateSecret(books: Books): Promise<string> {
  await requireStopped(books)
  const opened = await openOnBooks(books, await requireSecrets(books))
  try {
    const [, ...former] = await rotateFolderSecret(books.folder)
    const kept = former.length === 1 ? 'The former one is' : `${former.length} former ones are`
    return `There is a new secret. ${kept} still accepted, until \`farebox keys drop-secrets\`.`
  } finally {
    await opened.close()
  }
}

/** Forgets all former secrets, unless keys would end with them and that was not asked for. */
export async function dropSecrets(books: Books, breakKeys: boolean): Promise<string> {
  await requireStopped(books)
  const secrets = await requireSecrets(books)
  if (secrets.length === 1) return 'There is no former secret.'
  const opened = await openOnBooks(books, secrets)
  try {
    const { former, unmarked } = await opened.needs()
    if (former + unmarked > 0 && !breakKeys) {
      throw new CliError(
        `${counted(former + unmarked, 'key')} may still need a former secret.`,
        'Replace and revoke them (`farebox keys list` shows which), or repeat this with `--break-keys`.',
      )
    }
    await writeFolderSecrets(books.folder, [secrets[0]])
    const ended = former > 0 ? ` ${counted(former, 'key')} ended with that.` : ''
    return `${counted(secrets.length - 1, 'former secret')} dropped, and download links signed before.${ended}`
  } finally {
    await opened.close()
  }
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
