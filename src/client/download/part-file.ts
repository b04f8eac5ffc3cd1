import { constants } from 'node:fs'
import { copyFile, type FileHandle, link, open, readFile, rm, stat, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { headBytes, type SniffedType, sniffType } from '#contract/wire/media-type.ts'
import { ClientError } from '../client-error.ts'
import { unsyncedBytes } from '../limits.ts'
import { wireFailure } from '../wire/wire.ts'

/** Identifies the file that a part belongs to; only the same file is resumed. */
const PartNote = z.strictObject({
  urlHash: z.string(),
  /** A strong entity tag. */
  etag: z.string(),
  lastModified: z.string().nullable(),
  totalBytes: z.number().int().positive(),
  /** All bytes are present and synced; the file only needs its final name. */
  isWhole: z.boolean(),
})
export type PartNote = z.output<typeof PartNote>

const notePath = (part: string): string => `${part}.json`

export async function writePartNote(part: string, note: PartNote): Promise<void> {
  const file = await open(notePath(part), 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(note))
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Returns how far a download got; null if there is nothing to resume. */
export async function findPart(part: string): Promise<(PartNote & { bytes: number }) | null> {
  try {
    const note = PartNote.parse(JSON.parse(await readFile(notePath(part), 'utf8')))
    const bytes = await partBytes(part)
    return bytes > 0 && bytes <= note.totalBytes ? { ...note, bytes } : null
  } catch {
    return null
  }
}

export const partBytes = async (part: string): Promise<number> => (await stat(part).catch(() => null))?.size ?? 0

/** Truncates bytes that an earlier process may not have synced: after a power loss they may be zeros. */
export async function dropUnsynced(part: string): Promise<void> {
  const found = await findPart(part)
  if (found && !found.isWhole) await truncate(part, Math.max(0, found.bytes - unsyncedBytes))
}

export async function dropPart(part: string): Promise<void> {
  await Promise.all([rm(part, { force: true }), rm(notePath(part), { force: true })])
}

/** Appends to a part, or starts it over. Returns its total size, all of it synced. */
export async function appendTo(
  part: string,
  pieces: AsyncIterable<Uint8Array>,
  { from, maximumBytes }: { from: number; maximumBytes: number },
): Promise<number> {
  const file = await open(part, from > 0 ? 'a' : 'w', 0o600)
  const writing = new Writing(file)
  let bytes = from
  try {
    try {
      for await (const piece of pieces) {
        bytes += piece.byteLength
        if (bytes > maximumBytes) throw tooLarge(maximumBytes)
        await writing.add(piece)
      }
    } finally {
      // Bytes that arrived before an interruption are not downloaded again.
      await writing.flush()
    }
    await file.sync()
  } catch (error) {
    throw isFull(error) ? noSpace(error) : error
  } finally {
    await file.close()
  }
  return bytes
}

/**
 * Syncs one half of the unsynced bytes while the other half is gathered, so that the network does not wait for the
 * disk.
 */
class Writing {
  readonly #file: FileHandle
  readonly #gathered = Buffer.allocUnsafe(unsyncedBytes / 2)
  #length = 0
  #syncing: Promise<void> = Promise.resolve()

  constructor(file: FileHandle) {
    this.#file = file
  }

  async add(piece: Uint8Array): Promise<void> {
    for (let start = 0; start < piece.byteLength; ) {
      const slice = piece.subarray(start, start + this.#gathered.byteLength - this.#length)
      this.#gathered.set(slice, this.#length)
      this.#length += slice.byteLength
      start += slice.byteLength
      if (this.#length === this.#gathered.byteLength) await this.#writeOut()
    }
  }

  async flush(): Promise<void> {
    await this.#writeOut()
    await this.#syncing
  }

  async #writeOut(): Promise<void> {
    await this.#syncing
    for (let start = 0; start < this.#length; ) {
      start += (await this.#file.write(this.#gathered, start, this.#length - start)).bytesWritten
    }
    this.#length = 0
    this.#syncing = this.#file.datasync()
    // The next caller to wait gets the error.
    this.#syncing.catch(() => {})
  }
}

/**
 * Gives a complete part its final name durably: an existing file is never replaced (`EEXIST`), and the folder is
 * synced.
 */
export async function finishPart(part: string, path: string): Promise<void> {
  try {
    await link(part, path)
  } catch (error) {
    if (!hasNoLinks(error)) throw error
    await copyWhole(part, path)
  }
  await dropPart(part)
  // Windows cannot sync a folder.
  if (process.platform === 'win32') return
  const folder = await open(dirname(path), 'r')
  await folder.sync().finally(() => folder.close())
}

/** USB sticks and some shared folders have no hard links, and a rename would replace an existing file. */
async function copyWhole(part: string, path: string): Promise<void> {
  await copyFile(part, path, constants.COPYFILE_EXCL)
  try {
    const copy = await open(path, 'r+')
    await copy.sync().finally(() => copy.close())
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}

export async function typeOfFile(path: string): Promise<SniffedType | null> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(headBytes), 0, headBytes, 0)
    return sniffType(buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code

const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(String(codeOf(error)))

const hasNoLinks = (error: unknown): boolean =>
  ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(String(codeOf(error)))

/** What has arrived is kept, so that the download can resume once there is room. */
export const noSpace = (cause?: unknown): ClientError =>
  new ClientError('no-space', 'There is no space left on the disk for the file.', { wasSent: true, cause })

const tooLarge = (maximumBytes: number): ClientError =>
  new ClientError('too-large', `The file is larger than ${maximumBytes} bytes.`, { wasSent: true })

export interface SavedPieces {
  path: string
  mimeType: SniffedType
  bytes: number
}

export interface SavePieces {
  /** Deleted unless it becomes the file. */
  partPath: string
  maximumBytes: number
  /** Returns the final path for a file of this detected type; null if the type is not wanted. */
  pathOf(mimeType: SniffedType): string | null
}

/**
 * Saves a file whose type is detected from its bytes, and names it when it is complete and synced. An existing file is
 * never replaced.
 */
export async function savePieces(
  pieces: AsyncIterable<Uint8Array>,
  { partPath, maximumBytes, pathOf }: SavePieces,
): Promise<SavedPieces> {
  try {
    const bytes = await appendTo(partPath, failingAsOurs(pieces), { from: 0, maximumBytes })
    const mimeType = await typeOfFile(partPath)
    const path = mimeType && pathOf(mimeType)
    if (!path) throw new ClientError('unreadable', 'The download is not of a requested type.', { wasSent: true })
    await finishPart(partPath, path)
    return { path, mimeType, bytes }
  } catch (error) {
    await dropPart(partPath)
    throw error
  }
}

/** Turns a failure of the body's stream into the client's own error. */
export async function* failingAsOurs(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw error instanceof ClientError || (error instanceof Error && error.name === 'AbortError')
      ? error
      : wireFailure(error)
  }
}
