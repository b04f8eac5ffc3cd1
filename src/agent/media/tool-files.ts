import { fileURLToPath } from 'node:url'
import { resourceFileBytes } from '#toolkit/bounds.ts'
import type { FileStore, KeptFile, SavedFile, Shown } from '#toolkit/tool-context.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import type { Files, NoteFile } from './files.ts'
import type { Previews } from './previews.ts'
import type { SavedFiles } from './saved-files.ts'

export interface FileParts {
  files: Files
  savedFiles: SavedFiles
  previews: Previews
}

interface FilesCall {
  /** Its name; null if no tool was called. */
  tool: string | null
  signal: AbortSignal
}

/**
 * The files of one tool call: what it saves is recorded with the tool's name, and what it reads is recorded for the
 * user who may be asked.
 */
export class ToolFiles implements FileStore {
  readonly #files: Files
  readonly #savedFiles: SavedFiles
  readonly #previews: Previews
  readonly #call: FilesCall
  readonly #noted: (AskedFile | null)[] = []

  constructor({ files, savedFiles, previews }: FileParts, call: FilesCall) {
    this.#files = files
    this.#savedFiles = savedFiles
    this.#previews = previews
    this.#call = call
  }

  asMediaUrl(...given: Parameters<FileStore['asMediaUrl']>): Promise<string> {
    return this.#files.asMediaUrl(...given, this.#nextPlace())
  }

  asFormFile(...given: Parameters<FileStore['asFormFile']>): ReturnType<FileStore['asFormFile']> {
    return this.#files.asFormFile(...given, this.#nextPlace())
  }

  /** Returns what was read so far, for the user who is asked about the call. */
  noted(): readonly AskedFile[] {
    return this.#noted.filter(file => file !== null)
  }

  /** Several are read at once; they are listed in the order of the requests. */
  #nextPlace(): NoteFile {
    const place = this.#noted.push(null) - 1
    return file => {
      this.#noted[place] = file
    }
  }

  async saveText(...given: Parameters<FileStore['saveText']>): Promise<SavedFile> {
    const file = await this.#files.saveText(...given)
    try {
      this.#savedFiles.keep({ ...file, model: null, tool: this.#call.tool })
    } catch {
      // The paid result is saved and its path is reported, even though no list has it.
    }
    return file
  }

  preview(...[file, within]: Parameters<FileStore['preview']>): Promise<Shown> {
    return this.#previews.of(file, within, this.#call.signal)
  }

  async recording(file: SavedFile): Promise<Shown | null> {
    const bytes = await this.#files.bytesOf(file, resourceFileBytes).catch(() => null)
    return bytes && { type: 'audio', data: bytes.toString('base64'), mimeType: file.mimeType }
  }

  async saved(limit: number): Promise<KeptFile[]> {
    return this.#savedFiles.list(limit)
  }

  async readSaved(address: string): Promise<{ file: KeptFile; bytes: Uint8Array } | null> {
    const path = pathOfLink(address)
    const file = path === null ? this.#savedFiles.find(address) : this.#savedFiles.at(path)
    return file && { file, bytes: await this.#files.bytesOf(file, resourceFileBytes) }
  }
}

/** Returns null if it is not a link to a file. */
function pathOfLink(address: string): string | null {
  if (!address.startsWith('file:')) return null
  try {
    return fileURLToPath(address)
  } catch {
    return null
  }
}
