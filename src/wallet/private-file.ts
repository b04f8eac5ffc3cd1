import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { WalletRefusal } from './terms/refusal.ts'

const ownerOnlyFolder = 0o700
const ownerOnlyFile = 0o600
const othersMayMask = 0o077

/** The default folder of the wallet's files: `~/.farebox`. */
export const homeDataFolder = (): string => join(homedir(), '.farebox')

/**
 * Creates a folder and its parents so that they survive a power loss. Creates one at a time: below /proc, where every
 * new name stays missing, Node's `recursive` would try forever.
 */
export function ensurePrivateFolder(folder: string): void {
  const path = resolve(folder)
  const parent = dirname(path)
  if (parent === path || existsSync(path)) return
  ensurePrivateFolder(parent)
  try {
    mkdirSync(path, { mode: ownerOnlyFolder })
  } catch (error) {
    if (!isTaken(error)) throw error
  }
  syncFolder(parent)
}

/**
 * Creates an empty file that only its owner can read, if missing. An existing one is not opened, because closing it
 * would drop SQLite's locks.
 */
export function ensurePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnlyFile))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Writes a new file atomically, synced with its folder. Returns false if it exists; it is never overwritten. */
export function writeNewPrivateFile(folder: string, name: string, text: string): boolean {
  ensurePrivateFolder(folder)
  const fresh = freshFile(folder, name, text)
  try {
    return linkNew(fresh, join(folder, name), text)
  } finally {
    unlinkSync(fresh)
    syncFolder(folder)
  }
}

/** Writes a file atomically, synced with its folder, and replaces an existing one. */
export function replacePrivateFile(folder: string, name: string, text: string): void {
  ensurePrivateFolder(folder)
  takePlace(freshFile(folder, name, text), join(folder, name))
  syncFolder(folder)
}

/** On Windows, a virus scanner or a reader holds a file for some milliseconds; in total we wait half a second. */
const replacing = { attempts: 10, pauseMs: 10 }

/** Renames a file, and removes it if the other one cannot be replaced. */
export function takePlace(
  fresh: string,
  path: string,
  { platform = process.platform as string, move = renameSync } = {},
): void {
  for (let attempt = 1; ; attempt++) {
    try {
      move(fresh, path)
      return
    } catch (error) {
      const isHeld = ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')
      if (platform !== 'win32' || !isHeld || attempt === replacing.attempts) {
        unlinkSync(fresh)
        throw error
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, attempt * replacing.pauseMs)
    }
  }
}

/** Under a temporary name, so that half of it is never read. */
function freshFile(folder: string, name: string, text: string): string {
  const path = join(folder, `${name}.${randomUUID()}.new`)
  writeFile(path, text)
  return path
}

function writeFile(path: string, text: string): void {
  const file = openSync(path, 'wx', ownerOnlyFile)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A link fails if the name exists, while a rename would replace it. */
function linkNew(fresh: string, path: string, text: string): boolean {
  try {
    linkSync(fresh, path)
    return true
  } catch (error) {
    if (isTaken(error)) return false
  }
  // On a file system without links, a crash can leave an incomplete file.
  try {
    writeFile(path, text)
    return true
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
}

const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST'

/** Returns the text of a small file, or null if it does not exist. A secret that others can read is refused. */
export function readPrivateFile(path: string, maxBytes: number, holdsSecret: boolean): string | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const { mode, size } = fstatSync(file)
    if (holdsSecret && process.platform !== 'win32' && (mode & othersMayMask) !== 0)
      throw new WalletRefusal({
        rule: 'key',
        sentence: `Other users of this machine can read ${path}.`,
        nextStep: `Run \`chmod 600 ${path}\`, and use a new key if the machine is shared.`,
      })
    if (size > maxBytes)
      throw new WalletRefusal({
        rule: 'settings',
        sentence: `${path} is larger than ${maxBytes} bytes, so it is not a file of farebox.`,
        nextStep: 'Move it away, then try again.',
      })
    const bytes = new Uint8Array(size)
    const read = readSync(file, bytes, 0, size, 0)
    return new TextDecoder().decode(bytes.subarray(0, read))
  } finally {
    closeSync(file)
  }
}

function syncFolder(folder: string): void {
  // Windows cannot sync a folder.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
