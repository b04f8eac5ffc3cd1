import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appendTo, dropPart, finishPart } from '#client/download/part-file.ts'
import type { SniffedType } from '#contract/wire/media-type.ts'

interface Text {
  bytes: Buffer
  /** What the file is called for; nothing of it but letters and digits is kept. */
  name: string
  extension: 'txt' | 'json'
}

/** Beside a file that was cut short or that somebody wrote in since, a whole one gets its own name. */
const mostNames = 20

/**
 * The path of a text, whole and synced. The same text of the same origin is the same file, however often it is saved; a
 * file that holds anything else is neither taken for it nor replaced. Throws `ClientError` of kind `no-space`.
 */
export async function saveText(folder: string, { bytes, name, extension }: Text): Promise<string> {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  // Of one process alone: two that save the same text at once would write into each other's part.
  const part = inFolder(folder, `.${hash}-${process.pid}-${randomUUID()}.part`)
  for (let count = 1; count <= mostNames; count++) {
    const ending = count === 1 ? extension : `${count}.${extension}`
    const path = inFolder(folder, `${slugOf(name, 'text')}-${hash}.${ending}`)
    if (await holds(path, bytes)) return path
    if (await isNamed(part, path, bytes)) return path
    // Another call may have saved the same meanwhile.
    if (await holds(path, bytes)) return path
  }
  throw new Error('Every name for this text is taken.')
}

/** False where another took the name meanwhile. */
async function isNamed(part: string, path: string, bytes: Buffer): Promise<boolean> {
  try {
    await appendTo(part, pieceOf(bytes), { from: 0, maximumBytes: bytes.byteLength })
    await finishPart(part, path)
    return true
  } catch (error) {
    await dropPart(part)
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** What cannot be read, or is no plain file of that size, is another's: a pipe is waited for by nobody, a link not followed. */
async function holds(path: string, bytes: Buffer): Promise<boolean> {
  const there = await lstat(path).catch(() => null)
  if (!there?.isFile() || there.size !== bytes.byteLength) return false
  return readFile(path).then(
    whole => bytes.equals(whole),
    () => false,
  )
}

async function* pieceOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | null)?.code

/** What a file is named for: when and by which model it was made, and the job or call. */
interface MadeBy {
  startedAtMs: number
  model: string
  id: string
}

/**
 * A name of ours that no file has yet, for the next of those that were made together. A file that a crash left without its
 * row keeps its name, too.
 */
export function freePath(folder: string, { startedAtMs, model, id }: MadeBy, mimeType: SniffedType): string {
  for (let count = 1; count <= mostNames; count++) {
    const extension = extensions[mimeType]
    const ending = count === 1 ? extension : `${count}.${extension}`
    const path = inFolder(folder, outputName(startedAtMs, model, id, ending))
    if (!existsSync(path)) return path
  }
  throw new Error('Every name for this file is taken.')
}

const extensions: Readonly<Record<SniffedType, string>> = {
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
}

/** A name of ours: when, by which model, which job. Nothing of it is a stranger's. */
export function outputName(startedAtMs: number, model: string, jobId: string, extension: string): string {
  const when = new Date(startedAtMs).toISOString().slice(0, 16).replace(/[-:]/g, '').replace('T', '-')
  return `${when}-${slugOf(model, 'file')}-${jobId.slice(-6)}.${extension}`
}

/** Small letters, digits and hyphens of a name; `otherwise` where it has none. */
const slugOf = (name: string, otherwise: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || otherwise

export const inFolder = (folder: string, name: string): string => join(folder, name)
