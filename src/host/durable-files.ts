import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

const ownerOnlyFolder = 0o700

/** Makes a folder for its owner alone, with those above it. Once this resolves, a loss of power leaves it there. */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path)
  const first = await mkdir(folder, { recursive: true, mode: ownerOnlyFolder })
  if (first === undefined) return
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made))
    if (made === first || made === dirname(made)) return
  }
}

/** Makes the names in a folder durable: files that were made, renamed or linked there. */
export async function syncFolder(path: string): Promise<void> {
  // Windows has no handle of a folder to sync.
  if (process.platform !== 'win32') await sync(path, 'r')
}

/** Makes the contents of a file durable; its name is the folder's. */
export const syncFile = (path: string): Promise<void> => sync(path, process.platform === 'win32' ? 'r+' : 'r')

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  await handle.sync().finally(() => handle.close())
}
