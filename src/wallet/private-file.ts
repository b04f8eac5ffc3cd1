import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { WalletRefusal } from './terms/refusal.ts'

const ownerOnlyFolder = 0o700
const ownerOnlyFile = 0o600
const othersMayMask = 0o077

/** Where the wallet's files are unless told: `~/.farebox`. */
export const defaultStateFolder = (): string => join(homedir(), '.farebox')

/** Makes a folder that a loss of power leaves there, with those above it. */
export function ensurePrivateFolder(folder: string): void {
  const path = resolve(folder)
  const first = mkdirSync(path, { recursive: true, mode: ownerOnlyFolder })
  if (first === undefined) return
  for (let made = path; ; made = dirname(made)) {
    syncFolder(dirname(made))
    if (made === first || made === dirname(made)) return
  }
}

/** Makes an empty file for its owner alone where there is none. One that exists is not opened: closing it would drop SQLite's locks. */
export function ensurePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnlyFile))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Writes a new file, synced with its folder. False when there is one already; it is never overwritten. */
export function writeNewPrivateFile(folder: string, name: string, text: string): boolean {
  ensurePrivateFolder(folder)
  let file: number
  try {
    file = openSync(join(folder, name), 'wx', ownerOnlyFile)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  syncFolder(folder)
  return true
}

/** Writes a file whole or not at all, synced with its folder, in the place of one that may be there. */
export function replacePrivateFile(folder: string, name: string, text: string): void {
  const fresh = `${name}.${randomUUID()}.new`
  writeNewPrivateFile(folder, fresh, text)
  renameSync(join(folder, fresh), join(folder, name))
  syncFolder(folder)
}

/** The text of a small file, or null where there is none. A secret that others may read is refused. */
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
        nextStep: `Run \`chmod 600 ${path}\`, and take another key if the machine is shared.`,
      })
    if (size > maxBytes)
      throw new WalletRefusal({
        rule: 'settings',
        sentence: `${path} is larger than ${maxBytes} bytes, so it is none of our files.`,
        nextStep: 'Move it away.',
      })
    const bytes = new Uint8Array(size)
    const read = readSync(file, bytes, 0, size, 0)
    return new TextDecoder().decode(bytes.subarray(0, read))
  } finally {
    closeSync(file)
  }
}

function syncFolder(folder: string): void {
  // Windows has no handle of a folder to sync.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
