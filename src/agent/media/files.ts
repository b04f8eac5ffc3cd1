import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, readFile, realpath } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { appendTo, dropPart, finishPart } from '#client/download/part-file.ts'
import { headBytes, type SniffedType, sniffType } from '#contract/wire/media-type.ts'
import { makeFolder } from '#host/files.ts'
import type { FileStore, MediaKind, SavedFile } from '#toolkit/tool-context.ts'
import type { ToolFailure } from '#toolkit/tool-failure.ts'
import { FormFile } from '#toolkit/values/form-file.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import { inputFileBytes, pathCharacters } from '../bounds.ts'
import {
  type FileFolders,
  isDocumentName,
  isSecretName,
  mediaItemGiven,
  ReadableFiles,
  refused,
  tooLarge,
} from './readable-files.ts'

type Kind = MediaKind | 'document'

/** Records what was read, so that the user can be told. */
export type NoteFile = (file: AskedFile) => void

/** Reads from allowed folders and writes to one. */
export class Files implements Pick<FileStore, 'asMediaUrl' | 'asFormFile' | 'saveText'> {
  readonly #folders: FileFolders
  readonly #readable: ReadableFiles
  readonly #sweep: (folder: string) => Promise<void>
  #swept: Promise<void> | undefined

  /** `sweep` removes what dead processes left in the output folder, once, before the first file is saved. */
  constructor(folders: FileFolders, sweep: (folder: string) => Promise<void> = async () => {}) {
    this.#folders = folders
    this.#readable = new ReadableFiles(folders)
    this.#sweep = sweep
  }

  async asMediaUrl(source: string, kind: MediaKind, note?: NoteFile): Promise<string> {
    const given = mediaItemGiven(source)
    if (given) note?.(given)
    if (/^https?:\/\//i.test(source)) return source
    if (/^data:/i.test(source)) return dataUrl(source, kind)
    const { bytes, type, path } = await this.#read(source, kind, true)
    note?.(await this.#named(path, bytes))
    return `data:${type};base64,${bytes.toString('base64')}`
  }

  /** The name that a service gets has the file's extension and nothing else of it. */
  async asFormFile(source: string, kind: Kind, note?: NoteFile): Promise<FormFile> {
    const { bytes, type, path } = await this.#read(source, kind, false)
    note?.(await this.#named(path, bytes))
    const ending = /\.[a-z0-9]{1,5}$/i.exec(path)?.[0].toLowerCase() ?? ''
    return new FormFile(new Uint8Array(bytes), `${kind}${ending}`, type)
  }

  /** A file that was saved here is shown by its name in the output folder, any other by its complete path. */
  async #named(path: string, read: Buffer): Promise<AskedFile> {
    const output = await realOrEmpty(this.#folders.output)
    const name = output !== '' && isInside(path, output) ? relative(output, path) : path
    return { name, bytes: read.byteLength, sha256: createHash('sha256').update(read).digest('hex') }
  }

  async #read(
    source: string,
    kind: Kind,
    takesAddress: boolean,
  ): Promise<{ bytes: Buffer; type: string; path: string }> {
    const path = await this.#readable.pathOf(pathOf(source, this.#folders.output))
    if (path === null) throw this.#outside(takesAddress)
    const bytes = await this.#readable.read(path)
    const type = sniffType(bytes.subarray(0, headBytes))
    if (!type && isSecretName(basename(path))) throw this.#outside(takesAddress)
    // A document's reader detects its type; an image or a recording is not a document.
    if (kind === 'document' && !type && isDocumentName(basename(path)))
      return { bytes, type: 'application/octet-stream', path }
    if (!type?.startsWith(`${kind}/`))
      throw refused(`The file is not ${named[kind]} of a supported type.`, `Give a path to ${anExample[kind]}.`)
    return { bytes, type, path }
  }

  /** The same text from the same origin gives the same file, however often it is read. */
  async saveText(
    text: string,
    name: string,
    mimeType: 'text/plain' | 'application/json' = 'text/plain',
  ): Promise<SavedFile> {
    const bytes = Buffer.from(text)
    const extension = mimeType === 'text/plain' ? 'txt' : 'json'
    const path = await saveText(await this.outputFolder(), { bytes, name, extension })
    return { path, mimeType, bytes: bytes.byteLength }
  }

  /** Returns the bytes of a saved file if it is unchanged and may be read. Throws `ToolFailure`. */
  async bytesOf(file: SavedFile, mostBytes: number): Promise<Buffer> {
    const { path, mimeType, bytes: size } = file
    if (size > mostBytes) throw refused(`The file has ${size} bytes; the maximum is ${mostBytes}.`, openIt(path))
    const bytes = await this.#readable.read(await this.readablePath(file))
    const type = sniffType(bytes.subarray(0, headBytes))
    const isOfType = type === null ? textTypes.has(mimeType) : type === mimeType
    if (bytes.byteLength !== size || !isOfType)
      throw refused('Another file is now at the path where the file was saved.', openIt(path))
    return bytes
  }

  /** Returns the path of a saved file if it exists and may be read. */
  async readablePath({ path }: SavedFile): Promise<string> {
    const real = await realpath(path).catch(() => null)
    if (real === null)
      throw refused(`The saved file no longer exists: ${path}.`, 'Ask the user where it is now, or make it again.')
    // Its path contained no link when it was saved.
    if (real !== path || (await this.#readable.pathOf(real)) !== real)
      throw refused('The file is not in a folder that tools may read.', openIt(path))
    return real
  }

  /** Returns the output folder, created if missing. */
  async outputFolder(): Promise<string> {
    try {
      await makeFolder(this.#folders.output)
      const folder = await realpath(this.#folders.output)
      this.#swept ??= this.#sweep(folder)
      await this.#swept
      return folder
    } catch {
      throw refused(
        'The output folder does not exist and cannot be created.',
        `Ask the user to check ${this.#folders.output}, or to set another folder with FAREBOX_OUTPUT_DIR.`,
      )
    }
  }

  /** The same message for a missing and a forbidden file, so that it reveals nothing about other files. */
  #outside(takesAddress: boolean): ToolFailure {
    const folders = [this.#folders.output, ...this.#folders.inputs].join(', ')
    return refused(
      'There is no such file in a folder that tools may read. They never read hidden files, or files named like keys, tokens, passwords or wallets.',
      `Ask the user to put it into one of these folders: ${folders}${takesAddress ? '; or give an https URL' : ''}.`,
    )
  }
}

/** Types that cannot be detected from the first bytes. */
const textTypes: ReadonlySet<string> = new Set(['text/plain', 'application/json'])

const named: Readonly<Record<Kind, string>> = {
  image: 'an image',
  video: 'a video',
  audio: 'audio',
  document: 'a document',
}

const anExample: Readonly<Record<Kind, string>> = {
  image: 'a PNG, JPEG, WebP or GIF',
  video: 'an MP4, MOV or WebM',
  audio: 'an MP3, WAV, FLAC, AAC, M4A or Ogg',
  document: 'a document with an extension such as .pdf, .docx, .xlsx, .html, .txt, .md or .csv',
}

function pathOf(source: string, folder: string): string {
  if (source.length > pathCharacters || source.includes('\0'))
    throw refused('This is not a valid file path.', 'Give a shorter path without special characters.')
  if (!source.startsWith('file://')) return isAbsolute(source) ? source : resolve(folder, source)
  try {
    return fileURLToPath(source)
  } catch {
    throw refused('This is not a valid file path.', 'Give a path without special characters.')
  }
}

function dataUrl(source: string, kind: MediaKind): string {
  const match = /^data:([a-z]+)\/[a-z0-9.+-]+;base64,([A-Za-z0-9+/]+={0,2})$/i.exec(source)
  if (match?.[1]?.toLowerCase() !== kind)
    throw refused(`This data URL is not ${named[kind]} in base64.`, 'Give a path or an https URL.')
  if ((match[2]?.length ?? 0) > (inputFileBytes * 4) / 3 + 4) throw tooLarge()
  return source
}

const realOrEmpty = (path: string): Promise<string> => realpath(path).catch(() => '')

function isInside(path: string, folder: string): boolean {
  const between = relative(folder, path)
  return between !== '' && between !== '..' && !between.startsWith(`..${sep}`) && !isAbsolute(between)
}

const openIt = (path: string): string => `Ask the user to open it at ${path}`

interface Text {
  bytes: Buffer
  /** A name for the file; only its letters and digits are used. */
  name: string
  extension: 'txt' | 'json'
}

/** If incomplete or changed files have this name, the complete file gets a number. */
const mostNames = 20

/**
 * Saves a text, complete and synced, and returns its path. The same text from the same origin is the same file, however
 * often it is saved; a file with other content is neither reused nor replaced. Throws `ClientError` of kind `no-space`.
 */
async function saveText(folder: string, { bytes, name, extension }: Text): Promise<string> {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  // Unique per process: two that save the same text at once would write into each other's part.
  const part = inFolder(folder, `.${hash}-${process.pid}-${randomUUID()}.part`)
  for (let count = 1; count <= mostNames; count++) {
    const ending = count === 1 ? extension : `${count}.${extension}`
    const path = inFolder(folder, `${slugOf(name, 'text')}-${hash}.${ending}`)
    if (await holds(path, bytes)) return path
    if (await isNamed(part, path, bytes)) return path
    // Another call may have saved the same text meanwhile.
    if (await holds(path, bytes)) return path
  }
  throw new Error('No free file name is left for this text.')
}

/** Returns false if another process took the name meanwhile. */
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

/**
 * A file that cannot be read, or is not a regular file of that size, is not ours. Neither a pipe nor a link is
 * followed.
 */
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

/** The parts of a file's name: when and by which model it was made, and the job or call. */
interface MadeBy {
  startedAtMs: number
  model: string
  id: string
}

/**
 * Returns an unused name of ours, with a number for files that were made together. A file that a crash left without its
 * row keeps its name too.
 */
export function freePath(folder: string, { startedAtMs, model, id }: MadeBy, mimeType: SniffedType): string {
  for (let count = 1; count <= mostNames; count++) {
    const extension = extensions[mimeType]
    const ending = count === 1 ? extension : `${count}.${extension}`
    const path = inFolder(folder, outputName(startedAtMs, model, id, ending))
    if (!existsSync(path)) return path
  }
  throw new Error('No free file name is left for this file.')
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

/** Builds a name of ours from the time, the model and the job, with nothing untrusted in it. */
export function outputName(startedAtMs: number, model: string, jobId: string, extension: string): string {
  const when = new Date(startedAtMs).toISOString().slice(0, 16).replace(/[-:]/g, '').replace('T', '-')
  return `${when}-${slugOf(model, 'file')}-${jobId.slice(-6)}.${extension}`
}

/** Returns a name's lower-case letters, digits and hyphens; `otherwise` if it has none. */
const slugOf = (name: string, otherwise: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || otherwise

export const inFolder = (folder: string, name: string): string => join(folder, name)
