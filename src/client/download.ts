import { createHash } from 'node:crypto'
import type { Client } from './client.ts'
import { ClientError } from './client-error.ts'
import { downloadAttempts, fileBytes } from './limits.ts'
import { appendTo, dropPart, findPart, finishPart, typeOfFile, writePartNote } from './part-file.ts'
import { withRetry } from './retry.ts'
import { wireFailure } from './undici-wire.ts'
import type { WireResponse } from './wire.ts'

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

/** The bytes of an answer as a file; what breaks off is thrown away, because an answer cannot be continued. */
export async function saveBody(response: WireResponse, file: SaveFile): Promise<Downloaded> {
  await dropPart(file.partPath)
  const expected = lengthOf(response.headers.get('content-length'))
  const bytes = await appendTo(file.partPath, failingAsOurs(response.body), { from: 0, maximumBytes: fileBytes }).catch(
    async error => {
      response.discard()
      await dropPart(file.partPath)
      throw error
    },
  )
  if (expected !== null && bytes !== expected) {
    await dropPart(file.partPath)
    throw brokenOff()
  }
  return place(file, bytes)
}

/** A file from a download address. A broken download goes on where it stopped, if the file is provably the same. */
export async function download(client: Client, url: string, file: SaveFile, signal?: AbortSignal): Promise<Downloaded> {
  const bytes = await withRetry(() => attempt(client, url, file, signal), {
    callClass: 'free',
    clock: client.clock,
    signal,
    attempts: downloadAttempts,
  })
  return place(file, bytes)
}

async function attempt(client: Client, url: string, file: SaveFile, signal?: AbortSignal): Promise<number> {
  const urlHash = createHash('sha256').update(url).digest('hex')
  const part = await findPart(file.partPath)
  const resumed = part?.urlHash === urlHash ? part : null
  if (resumed && resumed.bytes === resumed.totalBytes) return resumed.bytes
  const headers: Record<string, string> = resumed ? { range: `bytes=${resumed.bytes}-`, 'if-range': resumed.etag } : {}
  const response = await client.download(url, headers, signal)
  try {
    return await take(client, response, file, { resumed, urlHash })
  } catch (error) {
    // A disk that is full must not leave the connection open.
    response.discard()
    throw error
  }
}

async function take(
  client: Client,
  response: WireResponse,
  file: SaveFile,
  { resumed, urlHash }: { resumed: Awaited<ReturnType<typeof findPart>>; urlHash: string },
): Promise<number> {
  if (response.status === 206 && resumed && continues(response, resumed)) {
    return whole(file, response, { from: resumed.bytes, totalBytes: resumed.totalBytes })
  }
  if (response.status === 200) return fromStart(file, response, urlHash)
  await dropPart(file.partPath)
  if (response.status >= 400) throw await client.errorOf(null, response)
  throw response.status === 206
    ? brokenOff()
    : new ClientError('redirected', 'The download was redirected.', { wasSent: true })
}

async function fromStart(file: SaveFile, response: WireResponse, urlHash: string): Promise<number> {
  const totalBytes = lengthOf(response.headers.get('content-length'))
  const etag = response.headers.get('etag')
  await dropPart(file.partPath)
  // A weak tag says that two files are alike, which is not enough to join their bytes.
  if (totalBytes !== null && totalBytes > 0 && etag?.startsWith('"')) {
    await writePartNote(file.partPath, { urlHash, etag, totalBytes })
  }
  return whole(file, response, { from: 0, totalBytes })
}

async function whole(
  file: SaveFile,
  response: WireResponse,
  { from, totalBytes }: { from: number; totalBytes: number | null },
): Promise<number> {
  const bytes = await appendTo(file.partPath, failingAsOurs(response.body), { from, maximumBytes: fileBytes })
  if (totalBytes !== null && bytes !== totalBytes) throw brokenOff()
  return bytes
}

/** Only the very range that was asked for, of a file of the same size, with the same tag. */
function continues(response: WireResponse, part: { bytes: number; totalBytes: number; etag: string }): boolean {
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.headers.get('content-range') ?? '')
  const etag = response.headers.get('etag')
  return (
    Number(range?.[1]) === part.bytes &&
    Number(range?.[2]) === part.totalBytes - 1 &&
    Number(range?.[3]) === part.totalBytes &&
    (etag === null || etag === part.etag)
  )
}

async function place(file: SaveFile, bytes: number): Promise<Downloaded> {
  if ((await typeOfFile(file.partPath)) !== file.mimeType) {
    await dropPart(file.partPath)
    throw new ClientError('unreadable', `What came is no ${file.mimeType} file.`, { wasSent: true })
  }
  await finishPart(file.partPath, file.path)
  return { path: file.path, bytes }
}

async function* failingAsOurs(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw error instanceof ClientError || (error instanceof Error && error.name === 'AbortError')
      ? error
      : wireFailure(error)
  }
}

const brokenOff = (): ClientError =>
  new ClientError('no-answer', 'The file broke off before its end.', { wasSent: true })

const lengthOf = (text: string | null): number | null =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
