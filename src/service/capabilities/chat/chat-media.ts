import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest, ChatMessage, ContentPart } from '#contract/operations/chat.ts'
import { documentBytes } from '#contract/operations/documents.ts'
import { isWhole } from '#engines/audio/audio-codec.ts'
import { type AudioType, audioTypeNames, audioTypeOf } from '#engines/audio/recording.ts'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import type { FetchedFile } from '#engines/fetch/guarded-fetcher.ts'
import { fromBase64, imageFileBytes, readImageBytes } from '#engines/images/image-file.ts'
import {
  audioBytes,
  fetchMs,
  isVideoFormat,
  mediaFormat,
  mimeTypes,
  videoBytes,
} from '#engines/video-media/media-limits.ts'
import type { Call } from '../../http/route.ts'
import type { Service } from '../../http/service.ts'
import type { TextModel } from '../../models/model.ts'
import { readDocument } from '../documents/text-parser.ts'
import { imageFetchMs } from '../images/edit-image.ts'

type AudioPart = Extract<ContentPart, { type: 'input_audio' }>
type AudioFormat = NonNullable<AudioPart['input_audio']['format']>
type VideoPart = Extract<ContentPart, { type: 'video_url' }>
type Path = readonly (string | number)[]

/** Audio or video in a request, and where it is. */
interface SentMediaItem {
  path: Path
  part: AudioPart | VideoPart
}

/** Returns the audio of a conversation, and its videos given as data URLs. */
export const sentMediaIn = ({ messages }: ChatCompletionRequest): SentMediaItem[] =>
  messages.flatMap(({ content }, index) =>
    Array.isArray(content)
      ? content.flatMap((part: ContentPart, place) => {
          const isSent =
            part.type === 'input_audio' || (part.type === 'video_url' && /^data:/i.test(part.video_url.url))
          return isSent ? [{ path: ['messages', index, 'content', place, part.type], part }] : []
        })
      : [],
  )

/**
 * Checks by their bytes that media are complete and of the format that they claim, because no caller should pay for
 * media that no engine can read. Throws `invalidRequest` that names the field, `modelOverloaded`, or the signal's
 * reason.
 */
export async function checkSentMedia(media: readonly SentMediaItem[], signal: AbortSignal): Promise<void> {
  for (const { path, part } of media) {
    if (part.type === 'input_audio') await checkAudio([...path], part.input_audio, signal)
    else await checkedVideoType([...path, 'url'], bytesOf([...path, 'url'], part.video_url.url), signal)
  }
}

/** Formats with a header; for other formats the caller's word is taken. */
const audioTypes: Partial<Record<AudioFormat, AudioType>> = {
  ...{ wav: 'wav', mp3: 'mp3', aac: 'aac', ogg: 'ogg', flac: 'flac', m4a: 'mp4' },
}
const sampleBytes: Partial<Record<AudioFormat, number>> = { pcm16: 2, pcm24: 3 }

async function checkAudio(path: Path, { data, format }: AudioPart['input_audio'], signal: AbortSignal): Promise<void> {
  const at = [...path, 'data']
  const bytes = bytesOf(at, data)
  if (bytes.length > audioBytes) throw fieldError(at, `may have ${audioBytes} bytes at most`)
  const samples = format && sampleBytes[format]
  if (samples) {
    if (bytes.length % samples)
      throw fieldError(at, `its length is not a multiple of ${samples} bytes, the size of a sample`)
    return
  }
  if (format === 'aiff') return checkAiff(at, bytes)
  const type = audioTypeOf(bytes)
  if (!type) throw fieldError(at, `the bytes are not in any of the formats ${audioTypeNames}`)
  if (format && audioTypes[format] !== type) {
    throw fieldError([...path, 'format'], `is ${format}, but the bytes are ${type}; send the format of the bytes`)
  }
  if (!(await isWhole({ bytes, type }, signal))) throw fieldError(at, `the ${type} file is cut off or damaged`)
}

/** One chunk must contain all others, and have the length that it claims. */
function checkAiff(path: Path, bytes: Buffer): void {
  const isAiff = /^FORM.{4}AIF[FC]$/s.test(bytes.toString('latin1', 0, 12))
  if (!isAiff) throw fieldError(path, 'the bytes are not AIFF')
  if (bytes.readUInt32BE(4) + 8 > bytes.length) throw fieldError(path, 'the aiff file is cut off or damaged')
}

/** Decodes base64, with or without a data URL. */
function bytesOf(path: Path, text: string): Buffer {
  const head = /^data:[^,]{0,200};base64,/i.exec(text)?.[0] ?? ''
  const bytes = fromBase64(text.slice(head.length))
  if (!bytes) throw fieldError(path, 'is not valid base64')
  return bytes
}

/** Start codes of an MPEG stream: a pack, or a sequence if there are no packs. */
const mpeg = [Buffer.from('000001ba', 'hex'), Buffer.from('000001b3', 'hex')]

/**
 * Returns a video's type by its bytes. An MPEG stream has no end that shows whether it is complete. Throws like
 * `checkSentMedia`.
 */
async function checkedVideoType(path: Path, bytes: Buffer, signal: AbortSignal): Promise<string> {
  if (bytes.length > videoBytes) throw fieldError(path, `may have ${videoBytes} bytes at most`)
  if (mpeg.some(start => bytes.subarray(0, 4).equals(start))) return 'video/mpeg'
  const format = mediaFormat(bytes)
  if (!format || !isVideoFormat(format)) throw fieldError(path, 'the bytes are not MP4, MPEG, MOV or WebM')
  // MOV has the structure of MP4.
  const type = format === 'webm' ? 'webm' : 'mp4'
  if (!(await isWhole({ bytes, type }, signal))) throw fieldError(path, `the ${format} file is cut off or damaged`)
  return mimeTypes[format]
}

type MediaPart = Exclude<ContentPart, { type: 'text' | 'input_audio' }>

/**
 * A part of a conversation that its engine gets in another form: the data that was fetched from its URL, or the text of
 * a file.
 */
interface NamedMediaItem {
  /** Where it is in the caller's request. */
  path: readonly (string | number)[]
  part: MediaPart
  /** Its URL, or a file's data URL. */
  url: string
}

const isAddress = (url: string): boolean => /^https?:/i.test(url)

/** `https://…`, or a file's own bytes. */
const urlOf = (part: MediaPart): string =>
  part.type === 'file' ? part.file.file_data : part.type === 'image_url' ? part.image_url.url : part.video_url.url

const pathOf = (part: MediaPart): string[] => [part.type, part.type === 'file' ? 'file_data' : 'url']

/**
 * Returns them in the order of the conversation, whose first `before` messages are the service's own. Throws
 * `invalidRequest` if there are more than one request may name.
 */
export function mediaNamedIn({ messages }: ChatCompletionRequest, model: TextModel, before: number): NamedMediaItem[] {
  const media = messages.flatMap(({ content }, index) =>
    Array.isArray(content)
      ? content.flatMap((part: ContentPart, place) => {
          if (part.type === 'text' || part.type === 'input_audio') return []
          const url = urlOf(part)
          const isRead = part.type === 'file' && model.files === 'text'
          const path = ['messages', index - before, 'content', place, ...pathOf(part)]
          return isAddress(url) || isRead ? [{ path, part, url }] : []
        })
      : [],
  )
  const named = media.filter(({ url }) => isAddress(url))
  const beyond = named[namedMediaCount]
  if (!beyond) return media
  throw fieldError(
    beyond.path,
    `a request may contain at most ${namedMediaCount} URLs of images, videos and files; send the others as data URLs (data:image/png;base64,…)`,
  )
}

type Fetching = Pick<Service, 'documents' | 'log'> & Pick<Call, 'fetcher' | 'signal'> & { model: TextModel }

/**
 * Fetches the replacement of each part, so that an engine gets bytes and never a caller's URL, which could point into
 * the operator's network. Fetches and reads one after another, so that together they stay within their limits of bytes,
 * text and time. Throws `invalidRequest` that names the field, or the signal's reason.
 */
export async function fetchMedia(
  named: readonly NamedMediaItem[],
  fetching: Fetching,
): Promise<ReadonlyMap<ContentPart, ContentPart>> {
  if (named.length === 0) return noParts
  const parts = new Map<ContentPart, ContentPart>()
  const known = new Map<string, ContentPart>()
  const startedMs = performance.now()
  const longestMs = named.some(({ part }) => part.type !== 'image_url') ? fetchMs : imageFetchMs
  let leftBytes = namedMediaBytes
  let leftCharacters = filesCharacters
  for (const item of named) {
    const key = `${item.part.type} ${item.url}`
    const same = isAddress(item.url) ? known.get(key) : undefined
    if (same) {
      parts.set(item.part, withUrlOf(item.part, same))
      continue
    }
    const leftMs = Math.floor(longestMs - (performance.now() - startedMs))
    if (leftMs <= 0 && !isAddress(item.url)) throw fieldError(item.path, 'the files before it took too long to read')
    const timeoutMs = Math.max(1, leftMs)
    const file = isAddress(item.url)
      ? await fetchOne(item, { ...fetching, timeoutMs, mostBytes: Math.min(mostBytesOf(item.part), leftBytes) })
      : { bytes: encodedBytes(item), mimeType: '' }
    if (isAddress(item.url)) leftBytes -= file.bytes.length
    const part = await given(item, file, fetching)
    if (part.type === 'text') leftCharacters -= part.text.length
    if (leftCharacters < 0) {
      throw fieldError(item.path, `and the files before it have more than ${filesCharacters} characters of text`)
    }
    known.set(key, part)
    parts.set(item.part, part)
  }
  return parts
}

const noParts: ReadonlyMap<ContentPart, ContentPart> = new Map()

const mostBytesOf = ({ type }: MediaPart): number =>
  ({ image_url: imageFileBytes, video_url: videoBytes, file: documentBytes })[type]

type File = Pick<FetchedFile, 'bytes' | 'mimeType'>

async function fetchOne(
  { path, part, url }: NamedMediaItem,
  { fetcher, signal, timeoutMs, mostBytes }: Fetching & { timeoutMs: number; mostBytes: number },
): Promise<File> {
  const accept = { image_url: 'image/*', video_url: 'video/*', file: '*/*' }[part.type]
  try {
    return await fetcher.fetch({ url, accept, signal, timeoutMs, mostBytes })
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error
    throw fieldError(path, error.reason === 'address' ? error.message : `could not be fetched: ${error.message}`)
  }
}

function encodedBytes({ path, url }: NamedMediaItem): Buffer {
  const bytes = fromBase64(url.slice(url.indexOf(',') + 1))
  if (!bytes) throw fieldError(path, 'the data URL is not valid base64')
  if (bytes.length > documentBytes) throw fieldError(path, `has more than ${documentBytes} bytes`)
  return bytes
}

/** Returns the part for the engine, with its type detected from the bytes; the type that a server claims is ignored. */
async function given(
  { path, part }: NamedMediaItem,
  { bytes, mimeType }: File,
  fetching: Fetching,
): Promise<ContentPart> {
  const dataUrl = (type: string) => `data:${type};base64,${bytes.toString('base64')}`
  switch (part.type) {
    case 'image_url': {
      const read = readImageBytes(null, bytes)
      if (!read.ok) throw fieldError(path, read.problem)
      return { ...part, image_url: { ...part.image_url, url: dataUrl(`image/${read.image.type}`) } }
    }
    case 'video_url': {
      const type = await checkedVideoType(path, bytes, fetching.signal)
      return { ...part, video_url: { ...part.video_url, url: dataUrl(type) } }
    }
    case 'file': {
      const { cache_control: cached, file } = part
      if (fetching.model.files !== 'text') {
        const type = /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(mimeType) ? mimeType : 'application/octet-stream'
        return { ...part, file: { ...file, file_data: dataUrl(type) } }
      }
      const text = await readDocument(bytes, { ...fetching, path })
      fetching.fetcher.count(text.length)
      const head = file.filename === undefined ? 'A file:' : `The file ${JSON.stringify(file.filename)}:`
      return { type: 'text', text: `${head}\n\n${text}`, ...(cached ? { cache_control: cached } : {}) }
    }
  }
}

/** Keeps the part's other members. */
function withUrlOf(part: MediaPart, same: ContentPart): ContentPart {
  if (part.type === 'image_url' && same.type === 'image_url')
    return { ...part, image_url: { ...part.image_url, url: same.image_url.url } }
  if (part.type === 'video_url' && same.type === 'video_url')
    return { ...part, video_url: { ...part.video_url, url: same.video_url.url } }
  return same
}

/** Returns the request with each part in the form for its engine. */
export const withMedia = (
  request: ChatCompletionRequest,
  parts: ReadonlyMap<ContentPart, ContentPart | null>,
): ChatCompletionRequest =>
  parts.size === 0 ? request : { ...request, messages: request.messages.map(message => filledIn(message, parts)) }

function filledIn(message: ChatMessage, parts: ReadonlyMap<ContentPart, ContentPart | null>): ChatMessage {
  if (message.role !== 'user' || !Array.isArray(message.content)) return message
  const content = message.content.flatMap(part => {
    const other = parts.get(part)
    return other === null ? [] : [other ?? part]
  })
  return { ...message, content }
}

/**
 * Maximum number of images, videos and files that a request may name by URL: they are fetched one after another while
 * the caller waits.
 */
export const namedMediaCount = 10

/** For all of them together: with base64, as much as a request's body may have. */
export const namedMediaBytes = 25 * 1024 * 1024

/** Text of all files together, as much as one document may have: a packed file of 10 kB can unfold to all of it. */
export const filesCharacters = 10_000_000
