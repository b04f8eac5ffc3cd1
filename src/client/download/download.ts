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
  /** Where the whole file gets its name; never overwritten. */
  path: string
  /** Kept over a broken download and continued by the next one. */
  partPath: string
  /** What the first bytes have to be. */
  mimeType: string
}

export interface Downloaded {
  path: string
  bytes: number
}

export interface DownloadOptions {
  signal?: AbortSignal | undefined
  /** Room on the disk of a folder, in bytes; the system's own answer where absent. */
  freeBytes?: ((folder: string) => Promise<number>) | undefined
}

/** The bytes of an answer as a file; what breaks off is thrown away, because an answer cannot be continued. */
export async function saveBody(
  response: WireResponse,
  file: SaveFile,
  { freeBytes = freeBytesOf }: Pick<DownloadOptions, 'freeBytes'> = {},
): Promise<Downloaded> {
  try {
    await dropPart(file.partPath)
    const expected = lengthOf(response.headers.get('content-length'))
    await requireRoom(file, expected ?? 0, freeBytes)
    const bytes = await appendTo(file.partPath, failingAsOurs(response.body), { from: 0, maximumBytes: fileBytes })
    if (expected !== null && bytes !== expected) throw brokenOff()
    return await place(file, bytes)
  } catch (error) {
    response.discard()
    await dropPart(file.partPath)
    throw error
  }
}

/**
 * A file from a download address. A broken download goes on where it stopped, if the file is provably the same; so does
 * the next download of the same file, in this process or a later one. Throws the service's error or a `ClientError`.
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

  /** Until the file is whole. Only a cut after too little counts as a failure: a long file over a bad line has many others. */
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
    // A coded file has other bytes, and other lengths, than the one that its tag names.
    const headers: Record<string, string> = { 'accept-encoding': 'identity' }
    if (part) Object.assign(headers, { range: `bytes=${part.bytes}-`, 'if-range': part.etag })
    const response = await this.#client.download(this.#url, headers, { signal })
    try {
      return await this.#take(response, part)
    } catch (error) {
      // A disk that is full must not leave the connection open.
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
      // Whatever that is, it is no continuation of what is here.
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
    // A weak tag says that two files are alike, which is not enough to join their bytes.
    if (totalBytes === null || totalBytes === 0 || !etag?.startsWith('"')) {
      const bytes = await appendTo(partPath, failingAsOurs(response.body), { from: 0, maximumBytes: fileBytes })
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
    const bytes = await appendTo(partPath, failingAsOurs(response.body), { from, maximumBytes: totalBytes })
    if (bytes !== totalBytes) throw brokenOff()
    await writePartNote(partPath, { urlHash, etag, lastModified, totalBytes, isWhole: true })
    return bytes
  }
}

/** An address that is signed again differs in its query only; its file's tag says whether it is the same. */
export function hashOf(url: string): string {
  const { origin = url, pathname = '' } = URL.canParse(url) ? new URL(url) : {}
  return createHash('sha256').update(`${origin}${pathname}`).digest('hex')
}

/** Only the very range that was asked for, of a file of the same size, with the same tag and time. */
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

/** A refusal of the range after the last byte, which says how large the file is. */
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

/** Before the first byte, so that a large file does not fill the disk and then fail. */
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
