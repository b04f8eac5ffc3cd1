import { fieldError } from '#contract/errors/issues.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { type Fetcher, FetchRefused } from '../fetch/fetcher.ts'
import { fromBase64, imageFileBytes, readImage, readImageBytes } from '../images/image-file.ts'
import { fetchMs } from './bounds.ts'
import { type MediaFormat, mediaFormat, mimeTypes } from './media-format.ts'
import type { MediumRule, NamedMedium } from './named-media.ts'

export interface ReadMedium {
  bytes: Buffer
  mimeType: string
  /** Null for pictures. */
  format: MediaFormat | null
}

export interface Reading {
  fetcher: Fetcher
  /** What is left to the request. */
  mostBytes: number
  signal: AbortSignal
}

/** The bytes of a medium, of a type that its field takes. Throws `invalidRequest`, which names the field. */
export async function readMedium(named: NamedMedium, reading: Reading): Promise<ReadMedium> {
  const { path, url, rule } = named
  if (rule.kind === 'image') return imageMedium(named, reading)
  const mostBytes = Math.min(rule.mostBytes, reading.mostBytes)
  const bytes = isAddress(url) ? await fetched(named, { ...reading, mostBytes }) : fromDataUrl(path, url, rule.kind)
  if (bytes.length > rule.mostBytes) throw fieldError(path, `may have ${rule.mostBytes} bytes at most`)
  const format = mediaFormat(bytes)
  if (format === null || !rule.formats.includes(format)) throw wrongFormat(path, rule)
  return { bytes, format, mimeType: mimeTypes[format] }
}

async function imageMedium(named: NamedMedium, reading: Reading): Promise<ReadMedium> {
  const mostBytes = Math.min(imageFileBytes, reading.mostBytes)
  const read = isAddress(named.url)
    ? readImageBytes(null, await fetched(named, { ...reading, mostBytes }))
    : readImage(named.url)
  if (!read.ok) throw fieldError(named.path, read.problem)
  const { bytes, type } = read.picture
  return { bytes, mimeType: `image/${type}`, format: null }
}

const isAddress = (url: string): boolean => /^https?:/i.test(url)

async function fetched({ path, url, rule }: NamedMedium, { fetcher, mostBytes, signal }: Reading): Promise<Buffer> {
  try {
    const accept = `${rule.kind}/*`
    return (await fetcher.fetch({ url, mostBytes, timeoutMs: fetchMs, accept, signal })).bytes
  } catch (error) {
    if (error instanceof FetchRefused) throw fieldError(path, error.message)
    throw error
  }
}

const dataUrlHead = /^data:(video|audio)\/[a-z0-9.+-]{1,40}((?:;[a-z0-9=._-]{1,60}){0,4});base64,/i

function fromDataUrl(path: NamedMedium['path'], url: string, kind: 'video' | 'audio'): Buffer {
  const head = dataUrlHead.exec(url)
  if (head?.[1]?.toLowerCase() !== kind) {
    throw fieldError(path, `must be an address, or a data URL with base64: data:${kind}/TYPE;base64,…`)
  }
  const bytes = fromBase64(url.slice(head[0].length))
  if (!bytes) throw fieldError(path, 'the data URL holds no valid base64')
  return bytes
}

/** The published sentences, for the formats that the field takes. */
function wrongFormat(path: NamedMedium['path'], rule: Exclude<MediumRule, { kind: 'image' }>): ServiceError {
  const list = rule.formats.map(format => ({ mp4: 'MP4', mov: 'MOV', webm: 'WebM', wav: 'WAV', mp3: 'MP3' })[format])
  const formats = `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
  const error = `Invalid ${rule.kind} format. Supported formats are ${formats}.`
  return fieldError(path, `the bytes are none of the formats ${list.join(', ')}`, error)
}
