import { setTimeout as sleep } from 'node:timers/promises'
import type { WrongSecret } from '#access/keys/server-secret.ts'
import type { StoreError } from '#ledger/store/store.ts'
import { CliError } from '../command.ts'
import type { DataFolder } from './data-folder.ts'
import { type AdminRecord, runningService } from './service-admin.ts'

/** A start of the service, and its end with the last charges, take a few seconds; a command of the operator a moment. */
export const folderWaitMs = 15_000
export const folderAskMs = 50

/**
 * Opens a folder that another process may have for a moment: a command that ends soon, a service that starts or ends.
 * `open` runs again while it throws `folder_in_use`, for at most 15 s; `goesOn` throws where waiting is of no use.
 */
export async function openWhenFree<Opened>(
  folder: DataFolder,
  open: () => Promise<Opened>,
  goesOn: (folder: DataFolder) => Promise<void> = requireNoService,
): Promise<Opened> {
  const endMs = performance.now() + folderWaitMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isFolderInUse(error) || performance.now() >= endMs) throw await folderFailure(error, folder)
      await goesOn(folder)
      await sleep(folderAskMs)
    }
  }
}

const isFolderInUse = (error: unknown): boolean => isStoreError(error) && error.kind === 'folder_in_use'

/** Throws where a service runs on the folder, which does not end soon. */
export async function requireNoService(folder: DataFolder): Promise<void> {
  const running = await runningService(folder)
  if (running) throw folderInUse(folder, running)
}

/** What opening a folder's service threw, with who holds the folder where that is why; other errors as they are. */
export async function folderFailure(error: unknown, folder: DataFolder): Promise<unknown> {
  if (isWrongSecret(error)) return wrongSecret(error)
  if (!isStoreError(error)) return error
  if (error.kind === 'folder_in_use') return folderInUse(folder, await runningService(folder))
  if (error.kind === 'damaged_database') return new CliError(error.message, restoreIt)
  return new CliError(error.message, 'Or take another folder with `--data`.')
}

/** What brings a damaged ledger back. */
const restoreIt =
  'Move what is left of it and the files beside it that begin with its name away, then run `farebox restore BACKUP` with your last backup.'

/** By its name, because loading the class would load the store. */
export const isStoreError = (error: unknown): error is StoreError =>
  error instanceof Error && error.name === 'StoreError'

export const isWrongSecret = (error: unknown): error is WrongSecret =>
  error instanceof Error && error.name === 'WrongSecret'

export const wrongSecret = ({ fact, nextStep }: WrongSecret): CliError => new CliError(fact, nextStep)

export const folderInUse = ({ root }: DataFolder, running: AdminRecord | null): CliError =>
  new CliError(
    running
      ? `farebox already serves the folder ${root} at ${running.url} (process ${running.pid}).`
      : `Another process of farebox is using the folder ${root}.`,
    `Stop it${running ? ` with \`kill ${running.pid}\`` : ''}, or take another folder with \`--data\`.`,
  )
