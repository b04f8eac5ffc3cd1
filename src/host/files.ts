import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { mkdtemp, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const ownerOnlyFolder = 0o700

/** Creates a folder and its parents, readable only by their owner. Once this resolves, it survives a power loss. */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path)
  const isThere = await stat(folder).then(
    found => found.isDirectory(),
    () => false,
  )
  const first = isThere ? undefined : createFolders(folder, ownerOnlyFolder)
  if (first === undefined) return
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made))
    if (made === first || made === dirname(made)) return
  }
}

/**
 * Creates a folder and its parents, and returns the first one that was missing. The first is created without
 * `recursive`: below /proc, where every new name stays missing, `recursive` would try forever.
 */
export function createFolders(path: string, mode?: number): string | undefined {
  let first = resolve(path)
  while (!existsSync(dirname(first)) && dirname(first) !== first) first = dirname(first)
  try {
    mkdirSync(first, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return mkdirSync(path, { recursive: true, mode })
  }
  mkdirSync(path, { recursive: true, mode })
  return first
}

/** Makes names in a folder durable: files that were created, renamed or linked there. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot sync a folder.
  if (process.platform !== 'win32') await sync(path, 'r')
}

/** Makes the contents of a file durable; its name belongs to the folder. */
export const syncFile = (path: string): Promise<void> => sync(path, process.platform === 'win32' ? 'r+' : 'r')

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  await handle.sync().finally(() => handle.close())
}

/** On Windows, a virus scanner, an indexer or a reader holds a file for some milliseconds; in total we wait half a second. */
const renaming = { attempts: 10, pauseMs: 10 }

const mayRetry = (error: unknown, attempt: number, platform: string): boolean =>
  platform === 'win32' &&
  attempt < renaming.attempts &&
  ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Renames a file, and replaces an existing one. Retried where another process may hold one of them. */
export async function renameFile(
  from: string,
  to: string,
  { platform = process.platform as string, move = rename } = {},
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await move(from, to)
    } catch (error) {
      if (!mayRetry(error, attempt, platform)) throw error
      await sleep(attempt * renaming.pauseMs)
    }
  }
}

/** `renameFile` for code that cannot wait in another way. */
export function renameFileSync(
  from: string,
  to: string,
  { platform = process.platform as string, move = renameSync } = {},
): void {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let attempt = 1; ; attempt++) {
    try {
      move(from, to)
      return
    } catch (error) {
      if (!mayRetry(error, attempt, platform)) throw error
      Atomics.wait(pause, 0, 0, attempt * renaming.pauseMs)
    }
  }
}

/**
 * Creates a private temporary folder for the duration of `use`; `name` says what it was for if a crash leaves it
 * behind.
 */
export async function inFolder<Value>(name: string, use: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), `farebox-${name}-`))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: renaming.attempts })
  }
}

/** Writes bytes to a temporary file, for readers that need a path or random access. */
export const inFile = <Value>(name: string, bytes: Buffer, use: (path: string) => Promise<Value>): Promise<Value> =>
  inFolder(name, async folder => {
    const path = join(folder, name)
    await writeFile(path, bytes, { mode: 0o600 })
    return use(path)
  })

/**
 * Decodes a file that a user wrote. Notepad and PowerShell begin it with a byte order mark, and PowerShell's `>` writes
 * UTF-16.
 */
export function decodedText(bytes: Uint8Array): string {
  const encoding = utf16Marks.find(([first, second]) => bytes[0] === first && bytes[1] === second)?.[2] ?? 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}

const utf16Marks = [
  [0xff, 0xfe, 'utf-16le'],
  [0xfe, 0xff, 'utf-16be'],
] as const
