import { randomBytes } from 'node:crypto'
import type { KeyOrder, NewCustomerKey } from '#service/create-key.ts'
import { CliError } from './cli-error.ts'
import { type DataFolder, readFileIfThere, writePrivateFile } from './data-folder.ts'
import { folderFailure } from './folder-in-use.ts'

/** The part of a service that operator's commands need while none is running. */
export interface FolderService {
  createKey(order: KeyOrder): Promise<NewCustomerKey>
  close(): Promise<void>
}

const secretBytes = 32

/** The local service's secret; made on first use. A service beyond trying takes its own from the environment. */
export async function localSecret(folder: DataFolder): Promise<string> {
  const kept = await readFileIfThere(folder.secret)
  if (kept !== null) return kept.trim()
  const secret = randomBytes(secretBytes).toString('base64url')
  await writePrivateFile(folder.secret, `${secret}\n`)
  return secret
}

export async function openFolderService(folder: DataFolder): Promise<FolderService> {
  const [{ openSqliteStore }, { ApiKeys }, { createKey }, { systemClock }] = await Promise.all([
    import('#service/store/sqlite/open.ts'),
    import('#service/identity/api-keys.ts'),
    import('#service/create-key.ts'),
    import('#contract/clock.ts'),
  ])
  if ((await readFileIfThere(folder.secret)) === null) {
    throw new CliError(
      `There is no service in ${folder.root}.`,
      'Start one with `farebox up`, or name its folder with `--data`.',
    )
  }
  const store = await openSqliteStore({ path: folder.database }).catch(async error => {
    throw await folderFailure(error, folder)
  })
  const secret = Buffer.from(await localSecret(folder))
  const keys = new ApiKeys({ store, clock: systemClock, serverSecrets: [secret] })
  return {
    createKey: order => createKey({ store, keys, now: () => systemClock.now() }, order),
    close: () => store.close(),
  }
}
