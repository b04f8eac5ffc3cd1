import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

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

/** A private temporary folder for as long as it is used; `name` says what it was for if a crash leaves it behind. */
export async function inFolder<Value>(name: string, use: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), `farebox-${name}-`))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Bytes as a temporary file, for readers that need a path or random access. */
export const inFile = <Value>(name: string, bytes: Buffer, use: (path: string) => Promise<Value>): Promise<Value> =>
  inFolder(name, async folder => {
    const path = join(folder, name)
    await writeFile(path, bytes, { mode: 0o600 })
    return use(path)
  })
