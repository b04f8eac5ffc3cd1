import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { zeroUsd } from '#contract/money.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { inputFileBytes } from '../bounds.ts'
import { secretFileNames } from '../wallet/secret-files.ts'
import type { FileFolders } from './files.ts'
import { dataFolderMarks, isHiddenName } from './secret-names.ts'

/** Device and number: what a file or folder is, under whatever name. */
type Inode = string

/**
 * Which files tools may read: those in the allowed folders, except hidden ones, data folders of farebox, and files that have
 * another name elsewhere. Folders are compared by what they are, not by how their names are written.
 */
export class ReadableFiles {
  readonly #folders: FileFolders

  constructor(folders: FileFolders) {
    this.#folders = folders
  }

  /** The path without links; null where the file is missing or may not be read. */
  async pathOf(wanted: string): Promise<string | null> {
    const real = await realpath(wanted).catch(() => null)
    return real !== null && (await this.#mayRead(real)) ? real : null
  }

  /** The bytes of a file that `pathOf` has found. Throws `ToolFailure`, also where another file took its place meanwhile. */
  async read(real: string): Promise<Buffer> {
    // A link that took the file's place is not followed, and nobody waits for whoever writes to a pipe.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
    const file = await open(real, flags).catch(() => null)
    if (!file) throw refused('The file cannot be read.', 'Let the user look at its permissions.')
    try {
      const opened = await file.stat({ bigint: true })
      if (!opened.isFile()) throw refused('This is no file.', 'Give a path to one file.')
      await this.#checkOpened(real, opened)
      return await wholeOf(file, opened.size)
    } finally {
      await file.close()
    }
  }

  /** What was opened is what the path was checked for, and no secret by another name. */
  async #checkOpened(real: string, opened: BigIntStats): Promise<void> {
    if (opened.nlink > 1n)
      throw refused('The file has a second name (a hard link), so it may lie elsewhere too.', 'Give a copy of it.')
    const there = await lstat(real, { bigint: true }).catch(() => null)
    const isSame = there !== null && inodeOf(there) === inodeOf(opened) && (await this.pathOf(real)) === real
    if (!isSame || (await this.#secrets()).has(inodeOf(opened)))
      throw refused('The file may not be read.', 'Give another one.')
  }

  /** From the file upwards: nothing hidden or of a data folder up to an allowed folder. */
  async #mayRead(real: string): Promise<boolean> {
    const { output, inputs, state } = this.#folders
    const [saved, kept, ...given] = await Promise.all([output, state, ...inputs].map(inodeAt))
    let isAllowed = false
    for (let child = real, folder = dirname(real); ; child = folder, folder = dirname(folder)) {
      if (child === folder) return isAllowed
      if (!isAllowed && isHiddenName(basename(child))) return false
      const inode = await inodeAt(folder)
      if (inode === null) return false
      if (inode === kept || (await isDataFolder(folder))) return false
      // The output folder may lie in a data folder; any other one is read outside of those alone.
      if (inode === saved) return true
      isAllowed ||= given.includes(inode)
    }
  }

  /** Keys and passphrases under whatever name they are mounted. */
  async #secrets(): Promise<Set<Inode | null>> {
    const { state, secrets = [] } = this.#folders
    const paths = [...secretFileNames.map(name => join(state, name)), ...secrets]
    const found = new Set(await Promise.all(paths.map(inodeAt)))
    found.delete(null)
    return found
  }
}

async function wholeOf(file: FileHandle, size: bigint): Promise<Buffer> {
  if (size > inputFileBytes) throw tooLarge()
  const bytes = Buffer.alloc(Number(size))
  const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, 0)
  return bytes.subarray(0, bytesRead)
}

async function isDataFolder(folder: string): Promise<boolean> {
  const found = await Promise.all(dataFolderMarks.map(mark => lstat(join(folder, mark)).catch(() => null)))
  return found.some(mark => mark !== null)
}

const inodeOf = ({ dev, ino }: BigIntStats): Inode => `${dev}:${ino}`

const inodeAt = async (path: string): Promise<Inode | null> => {
  const found = await stat(path, { bigint: true }).catch(() => null)
  return found && inodeOf(found)
}

export const tooLarge = (): ToolFailure =>
  refused(`The file is larger than ${inputFileBytes / 1024 / 1024} MB.`, 'Give a smaller one, or an https URL.')

export const refused = (happened: string, next: string): ToolFailure =>
  new ToolFailure({ happened, charged: zeroUsd, next })
