import { CliError } from '../cli-error.ts'
import type { DataFolder } from '../data-folder.ts'
import { folderInUse } from '../folder-in-use.ts'
import { rotateFolderSecret, writeFolderSecrets } from '../folder-secrets.ts'
import { openFolder, requireSecrets } from '../folder-service.ts'
import { runningService } from '../service-admin.ts'

/** A running service reads its secrets at its start alone: what changed under it would end the keys that it makes. */
async function requireStopped(folder: DataFolder): Promise<void> {
  const running = await runningService(folder)
  if (running) throw folderInUse(folder, running)
}

/** Puts a new secret before the others; says what comes next. */
export async function rotateSecret(folder: DataFolder): Promise<string> {
  await requireStopped(folder)
  const opened = await openFolder(folder, await requireSecrets(folder))
  try {
    const [, ...former] = await rotateFolderSecret(folder)
    const kept = former.length === 1 ? 'The former one is' : `${former.length} former ones are`
    return `There is a new secret. ${kept} still accepted, until \`farebox keys drop-secrets\`.`
  } finally {
    await opened.close()
  }
}

/** Forgets all former secrets, unless keys would end with them and that was not asked for. */
export async function dropSecrets(folder: DataFolder, breakKeys: boolean): Promise<string> {
  await requireStopped(folder)
  const secrets = await requireSecrets(folder)
  if (secrets.length === 1) return 'There is no former secret.'
  const opened = await openFolder(folder, secrets)
  try {
    const { former, unmarked } = await opened.needs()
    if (former + unmarked > 0 && !breakKeys) {
      throw new CliError(
        `${former + unmarked} keys may still need a former secret.`,
        'Replace and revoke them (`farebox keys list` shows which), or repeat this with `--break-keys`.',
      )
    }
    await writeFolderSecrets(folder, [secrets[0]])
    const ended = breakKeys && former > 0 ? ` ${former} keys have ended with them.` : ''
    return `${secrets.length - 1} former secrets are dropped, and download links signed with them.${ended}`
  } finally {
    await opened.close()
  }
}
