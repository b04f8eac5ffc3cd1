import { link, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { ClientError } from './client-error.ts'
import { headBytes } from './limits.ts'
import { type SniffedType, sniffType } from './media-type.ts'

/** What a part was cut from; only the same file is continued. */
const PartNote = z.strictObject({ urlHash: z.string(), etag: z.string(), totalBytes: z.number().int().positive() })
export type PartNote = z.output<typeof PartNote>

const notePath = (part: string): string => `${part}.json`

export const writePartNote = (part: string, note: PartNote): Promise<void> =>
  writeFile(notePath(part), JSON.stringify(note), { mode: 0o600 })

/** How far an earlier download came; null where there is nothing to continue. */
export async function findPart(part: string): Promise<(PartNote & { bytes: number }) | null> {
  try {
    const note = PartNote.parse(JSON.parse(await readFile(notePath(part), 'utf8')))
    const { size } = await stat(part)
    return size > 0 && size <= note.totalBytes ? { ...note, bytes: size } : null
  } catch {
    return null
  }
}

export async function dropPart(part: string): Promise<void> {
  await Promise.all([rm(part, { force: true }), rm(notePath(part), { force: true })])
}

/** Writes pieces at the end of a part, or from its beginning. The bytes that it has afterwards. */
export async function appendTo(
  part: string,
  pieces: AsyncIterable<Uint8Array>,
  { from, maximumBytes }: { from: number; maximumBytes: number },
): Promise<number> {
  const file = await open(part, from > 0 ? 'a' : 'w', 0o600)
  let bytes = from
  try {
    for await (const piece of pieces) {
      bytes += piece.byteLength
      if (bytes > maximumBytes) throw tooLarge(maximumBytes)
      await file.appendFile(piece)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return bytes
}

/** Gives a whole part its name, for good: an existing file is never replaced (`EEXIST`), and the folder is synced. */
export async function finishPart(part: string, path: string): Promise<void> {
  await link(part, path)
  await dropPart(part)
  // Windows has no handle of a folder to sync.
  if (process.platform === 'win32') return
  const folder = await open(dirname(path), 'r')
  await folder.sync().finally(() => folder.close())
}

/** What the file is by its first bytes. */
export async function typeOfFile(path: string): Promise<SniffedType | null> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(headBytes), 0, headBytes, 0)
    return sniffType(buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}

const tooLarge = (maximumBytes: number): ClientError =>
  new ClientError('too-large', `The file is larger than ${maximumBytes} bytes.`, { wasSent: true })
