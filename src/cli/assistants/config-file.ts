import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createFolders, renameFileSync } from '#host/files.ts'
import { CliError, fileFailure } from '../command.ts'

/** A client's configuration as it was read. */
export interface ConfigFile {
  /** The path as the client names it. */
  path: string
  /** The file behind links: some users keep their configuration in a repository and link to it. */
  target: string
  /** Null if there is no file yet. */
  text: string | null
}

/** Claude Code keeps its history in the same file, which may be some megabytes. */
const mostBytes = 64 * 1024 * 1024

const byteOrderMark = '\uFEFF'

/** Reads a configuration, following links. Throws an error that the user can fix. */
export function readConfig(path: string): ConfigFile {
  const target = targetOf(path)
  if (!existsSync(target)) return { path, target, text: null }
  const { size } = statSync(target)
  if (size > mostBytes)
    throw new CliError(
      `${path} has ${size} bytes.`,
      `The maximum is ${mostBytes} bytes. Check that this is the right file.`,
    )
  try {
    return {
      path,
      target,
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(target)),
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new CliError(
      `${path} is not written in UTF-8.`,
      'Save it as UTF-8 in an editor, then try again. Nothing was changed.',
    )
  }
}

/** Splits off a byte order mark. */
export const withoutMark = (text: string): { mark: string; text: string } =>
  text.startsWith(byteOrderMark) ? { mark: byteOrderMark, text: text.slice(1) } : { mark: '', text }

/** Also follows a link to a file that does not exist yet. */
function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}

/** Returns the name for a copy of a configuration without our entry, or of an older one with it. */
export const copyOf = ({ target }: ConfigFile, hasEntry: boolean): string =>
  `${target}.${hasEntry ? 'with' : 'before'}-farebox`

/** Copies the file beside itself with its mode, replacing an older copy. Returns the path of the copy. */
export function keepCopy(file: ConfigFile, hasEntry: boolean): string {
  const copy = copyOf(file, hasEntry)
  try {
    copyFileSync(file.target, copy)
    keepRights(file.target, copy)
  } catch (error) {
    // A partial copy would look like the old file.
    rmSync(copy, { force: true })
    throw unwritten(error, file)
  }
  return copy
}

/** The client's configuration is not in a folder of ours, so the general error text does not fit. */
function unwritten(error: unknown, { path }: ConfigFile): unknown {
  const failure = error instanceof CliError ? null : fileFailure(error)
  if (failure === null) return error
  const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC'
  return new CliError(
    isFull ? `The disk of ${path} is full.` : failure.message,
    `${isFull ? 'Free some space' : 'Make it writable for your user'}, then try again. Nothing was changed.`,
  )
}

/**
 * Writes the file atomically, with the mode and owner of the old one. Throws if something else has changed it in the
 * meantime.
 */
export function writeConfig(file: ConfigFile, text: string): void {
  requireUnchanged(file)
  const fresh = `${file.target}.${randomUUID()}.new`
  try {
    createFolders(dirname(file.target))
    writeSynced(fresh, text)
    if (file.text !== null) keepRights(file.target, fresh)
    requireUnchanged(file)
    renameFileSync(fresh, file.target)
  } catch (error) {
    throw unwritten(error, file)
  } finally {
    rmSync(fresh, { force: true })
  }
}

/** Deletes a file that only we have written. */
export function removeConfig(file: ConfigFile): void {
  requireUnchanged(file)
  rmSync(file.target)
}

/** A running client may write its configuration at any moment. */
function requireUnchanged({ path, text }: ConfigFile): void {
  if (readConfig(path).text === text) return
  throw new CliError(
    `${path} has changed since it was read.`,
    'Quit the client if it is running, then try again. Nothing was changed.',
  )
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Under sudo the file would become root's, and the client could no longer write it. */
function keepRights(from: string, to: string): void {
  const { mode, uid, gid } = statSync(from)
  chmodSync(to, mode & 0o777)
  if (process.getuid?.() === 0) chownSync(to, uid, gid)
}
