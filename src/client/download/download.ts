import { createHash } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Client, withRetry } from '../client.ts'
import { ClientError } from '../client-error.ts'
import { downloadAttempts, downloadCuts, fileBytes, progressBytes, spareDiskBytes } from '../limits.ts'
import type { WireResponse } from '../wire/wire.ts'
import {
  appendTo,
  dropPart,
  dropUnsynced,
  failingAsOurs,
  findPart,
  finishPart,
  noSpace,
  partBytes,
  typeOfFile,
  writePartNote,
} from './part-file.ts'

export interface SaveFile {
  /** The final path of the complete file; an existing file is never overwritten. */
  path: string
  /** Survives an interrupted download, so that the next one can continue it. */
  partPath: string
  /** The type that the first bytes must have. */
  mimeType: string
}

export interface Downloaded {
  path: string
  bytes: number
}

export interface DownloadOptions {
  signal?: AbortSignal | undefined
  /** Called as bytes arrive; `totalBytes` is null where the service does not say it. */
  onBytes?: ((bytes: number, totalBytes: number | null) => void) | undefined
  /** Free disk space of a folder, in bytes. Defaults to asking the system. */
  freeBytes?: ((folder: string) => Promise<number>) | undefined
}

/** Saves the body of an answer as a file. A partial file is discarded, because an answer cannot be resumed. */
export async function saveBody(
  response: WireResponse,
  file: SaveFile,
  { freeBytes = freeBytesOf, onBytes }: Pick<DownloadOptions, 'freeBytes' | 'onBytes'> = {},
): Promise<Downloaded> {
  try {
    await dropPart(file.partPath)
    const expected = lengthOf(response.headers.get('content-length'))
    await requireRoom(file, expected ?? 0, freeBytes)
    const pieces = counted(failingAsOurs(response.body), onBytes, { from: 0, totalBytes: expected })
    const bytes = await appendTo(file.partPath, pieces, { from: 0, maximumBytes: fileBytes })
    if (expected !== null && bytes !== expected) throw brokenOff()
    return await place(file, bytes)
  } catch (error) {
    response.discard()
    await dropPart(file.partPath)
    throw error
  }
}

/**
 * Downloads a file. An interrupted download resumes if the file is provably the same, in this process or a later one.
 * Throws the service's error or a `ClientError`.
 */
export async function download(
  client: Client,
  url: string,
  file: SaveFile,
  options: DownloadOptions = {},
): Promise<Downloaded> {
  await dropUnsynced(file.partPath)
  const running = new Download(client, url, file, options)
  const bytes = await withRetry(() => running.advance(), {
    callClass: 'free',
    clock: client.clock,
    signal: options.signal,
    attempts: downloadAttempts,
  })
  return place(file, bytes)
}

type Part = NonNullable<Awaited<ReturnType<typeof findPart>>>

class Download {
  readonly #client: Client
  readonly #url: string
  readonly #file: SaveFile
  readonly #options: DownloadOptions
  readonly #urlHash: string
  #cuts = 0

  constructor(client: Client, url: string, file: SaveFile, options: DownloadOptions) {
    this.#client = client
    this.#url = url
    this.#file = file
    this.#options = options
    this.#urlHash = hashOf(url)
  }

  /**
   * Runs until the file is complete. An interruption counts as a failure only after too little progress, because a long
   * download over a bad connection is interrupted often.
   */
  async advance(): Promise<number> {
    for (;;) {
      const part = await this.#found()
      try {
        return await this.#attempt(part)
      } catch (error) {
        const isCut = error instanceof ClientError && error.kind === 'no-answer'
        const isFurther = (await this.#found())?.bytes ?? 0
        const won = isFurther - (part?.bytes ?? 0)
        if (!isCut || won < progressBytes || ++this.#cuts > downloadCuts) throw error
      }
    }
  }

  async #found(): Promise<Part | null> {
    const part = await findPart(this.#file.partPath)
    return part?.urlHash === this.#urlHash ? part : null
  }

  async #attempt(part: Part | null): Promise<number> {
    if (part?.isWhole && part.bytes === part.totalBytes) return part.bytes
    const { signal, freeBytes = freeBytesOf } = this.#options
    if (part) await requireRoom(this.#file, part.totalBytes - part.bytes, freeBytes)
    // With a content encoding, the bytes and lengths would not be those that the tag names.
    const headers: Record<string, string> = { 'accept-encoding': 'identity' }
    if (part) Object.assign(headers, { range: `bytes=${part.bytes}-`, 'if-range': part.etag })
    const response = await this.#client.download(this.#url, headers, { signal })
    try {
      return await this.#take(response, part)
    } catch (error) {
      // A full disk must not leave the connection open.
      response.discard()
      throw error
    }
  }

  async #take(response: WireResponse, part: Part | null): Promise<number> {
    if (response.status === 206 && part && continues(response, part)) return this.#append(response, part, part.bytes)
    if (response.status === 200) return this.#fromStart(response)
    if (part && isAllThereIs(response, part)) {
      response.discard()
      return this.#append({ ...response, body: nothing() }, part, part.bytes)
    }
    if (response.status === 206 || response.status === 416) {
      // This answer does not continue our part.
      await dropPart(this.#file.partPath)
      throw brokenOff()
    }
    if (response.status >= 400) throw await this.#client.errorOf(null, response)
    throw new ClientError('redirected', 'The download was redirected.', { wasSent: true })
  }

  async #fromStart(response: WireResponse): Promise<number> {
    const { partPath } = this.#file
    const totalBytes = lengthOf(response.headers.get('content-length'))
    const etag = response.headers.get('etag')
    await dropPart(partPath)
    await requireRoom(this.#file, totalBytes ?? 0, this.#options.freeBytes ?? freeBytesOf)
    // A weak tag only says that two files are equivalent, which is not enough to join their bytes.
    if (totalBytes === null || totalBytes === 0 || !etag?.startsWith('"')) {
      const pieces = this.#counted(response, { from: 0, totalBytes })
      const bytes = await appendTo(partPath, pieces, { from: 0, maximumBytes: fileBytes })
      if (totalBytes !== null && bytes !== totalBytes) throw brokenOff()
      return bytes
    }
    const lastModified = response.headers.get('last-modified')
    const note = { urlHash: this.#urlHash, etag, lastModified, totalBytes, isWhole: false }
    await writePartNote(partPath, note)
    return this.#append(response, note, 0)
  }

  async #append(response: WireResponse, note: Omit<Part, 'bytes'>, from: number): Promise<number> {
    const { partPath } = this.#file
    const { totalBytes, urlHash, etag, lastModified } = note
    const pieces = this.#counted(response, { from, totalBytes })
    const bytes = await appendTo(partPath, pieces, { from, maximumBytes: totalBytes })
    if (bytes !== totalBytes) throw brokenOff()
    await writePartNote(partPath, { urlHash, etag, lastModified, totalBytes, isWhole: true })
    return bytes
  }

  #counted(response: WireResponse, place: Place): AsyncIterable<Uint8Array> {
    return counted(failingAsOurs(response.body), this.#options.onBytes, place)
  }
}

interface Place {
  from: number
  totalBytes: number | null
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  onBytes: DownloadOptions['onBytes'],
  { from, totalBytes }: Place,
): AsyncGenerator<Uint8Array> {
  let bytes = from
  for await (const piece of pieces) {
    bytes += piece.byteLength
    onBytes?.(bytes, totalBytes)
    yield piece
  }
}

/** A newly signed address differs only in its query; the tag shows whether it is the same file. */
export function hashOf(url: string): string {
  const { origin = url, pathname = '' } = URL.canParse(url) ? new URL(url) : {}
  return createHash('sha256').update(`${origin}${pathname}`).digest('hex')
}

/** Accepts only the exact range that was requested, of a file with the same size, tag and time. */
function continues({ headers }: WireResponse, part: Part): boolean {
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers.get('content-range') ?? '')
  const length = lengthOf(headers.get('content-length'))
  const same = (name: string, known: string | null) => [null, known].includes(headers.get(name)) || known === null
  return (
    Number(range?.[1]) === part.bytes &&
    Number(range?.[2]) === part.totalBytes - 1 &&
    Number(range?.[3]) === part.totalBytes &&
    (length === null || length === part.totalBytes - part.bytes) &&
    same('etag', part.etag) &&
    same('last-modified', part.lastModified)
  )
}

/** Recognizes the refusal of a range that starts at the end of the file, which reveals the file's size. */
const isAllThereIs = ({ status, headers }: WireResponse, { bytes, totalBytes }: Part): boolean =>
  status >= 400 && bytes === totalBytes && headers.get('content-range') === `bytes */${totalBytes}`

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function place(file: SaveFile, bytes: number): Promise<Downloaded> {
  if ((await typeOfFile(file.partPath)) !== file.mimeType || (await partBytes(file.partPath)) !== bytes) {
    await dropPart(file.partPath)
    throw new ClientError('unreadable', `The download is not a ${file.mimeType} file.`, { wasSent: true })
  }
  await finishPart(file.partPath, file.path)
  return { path: file.path, bytes }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Checked before the first byte, so that a large file does not fill the disk and then fail. */
async function requireRoom({ partPath }: SaveFile, bytes: number, freeBytes: (folder: string) => Promise<number>) {
  if (bytes > fileBytes) {
    throw new ClientError('too-large', `The file is larger than ${fileBytes} bytes.`, { wasSent: true })
  }
  if ((await freeBytes(dirname(partPath))) < bytes + spareDiskBytes) throw noSpace()
}

const brokenOff = (): ClientError =>
  new ClientError('no-answer', 'The download ended before the file was complete.', { wasSent: true })

const lengthOf = (text: string | null): number | null =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
