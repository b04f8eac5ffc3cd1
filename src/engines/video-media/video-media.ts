import { createHash } from 'node:crypto'
import { modelOffline, payloadTooLarge, videoTooLong, videoTooShort } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import { inFile } from '#host/files.ts'
import type { Log } from '#host/log.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { MediaFailed } from '#host/media/media-workers.ts'
import { takeRecording } from '../audio/audio-codec.ts'
import { musicRate } from '../audio/recording.ts'
import { type Fetcher, FetchRefused } from '../fetch/fetcher.ts'
import { Ffmpeg, type FfmpegOptions, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { fromBase64, imageFileBytes, readImage, readImageBytes } from '../images/image-file.ts'
import {
  fetchMs,
  isVideoFormat,
  type MediaFormat,
  type MediaLengths,
  type MediaRule,
  mediaFormat,
  mimeTypes,
  musicSeconds,
  type NamedMediaItem,
  namedMedia,
  probeMs,
  probesAtOnce,
  probesWaiting,
  referenceTotalSeconds,
  requestMediaBytes,
  secondsTolerance,
  type VideoFormat,
  videoFramesPerSecond,
  videoPackets,
} from './media-limits.ts'

export interface Probed {
  /** A new file with only the measured content, as an engine gets it. */
  bytes: Buffer
  format: MediaFormat
  /** Up to the end of its last frame or sample. */
  seconds: number
  /** Number of frames in a video; null for audio. */
  frames: number | null
}

/** A complete media file that is refused: the reason follows the name of its field. */
export interface Refused {
  refused: string
}

/** Measures media, and writes new files with the measured content. */
export interface MediaProbe {
  /**
   * Returns null if the file is not readable as that format, a reason if it contains too much. Throws `FfmpegMissing`
   * if it needs something that is not installed, `modelOverloaded` if too many wait, and `requestTimeout` if it takes
   * too long, which is not the file's fault.
   */
  probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | Refused | null>
}

/** Measures packets and samples, because a header may claim any length, and the length decides the price. */
export class PacketProbe implements MediaProbe {
  readonly #ffmpeg: Ffmpeg

  constructor(options: Partial<FfmpegOptions> = {}) {
    this.#ffmpeg = new Ffmpeg({ atOnce: probesAtOnce, waiting: probesWaiting, timeoutMs: probeMs, ...options })
  }

  probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | Refused | null> {
    return isVideoFormat(format) ? this.#video(bytes, format, signal) : probeAudio(bytes, format, signal)
  }

  async #video(given: Buffer, format: VideoFormat, signal: AbortSignal): Promise<Probed | Refused | null> {
    try {
      const { bytes, seconds, frames } = await this.#ffmpeg.turn(
        run => inFile('media', given, path => run('video', { path, format, mostPackets: videoPackets })),
        signal,
      )
      return seconds > 0 ? { bytes: Buffer.from(bytes), format, seconds, frames } : null
    } catch (error) {
      if (isUnreadable(error)) return null
      if (error instanceof MediaFailed && error.problem === 'excessive') return { refused: error.message }
      throw error
    }
  }
}

async function probeAudio(bytes: Buffer, type: 'wav' | 'mp3', signal: AbortSignal): Promise<Probed | null> {
  const taking = { rate: musicRate, channels: 2, atMostSeconds: musicSeconds + 1, signal } as const
  const taken = await takeRecording({ bytes, type }, taking)
  if (taken === 'unknown') throw new FfmpegMissing()
  if (taken === 'broken') return null
  return { bytes: taken.recording.bytes, format: 'wav', seconds: taken.seconds, frames: null }
}

const isProbeMissing = (error: unknown): boolean => error instanceof FfmpegMissing

/** A media file that was read and is valid for its field. */
export interface TakenMediaItem extends Pick<NamedMediaItem, 'path' | 'rule' | 'role'>, ReadMediaItem {
  /** SHA-256 in hex of the bytes that the caller sent. */
  hash: string
  /** Null for images. */
  seconds: number | null
}

interface TakenMedia {
  /**
   * Contains the bytes of every media file: the engine works on what was checked, even if the URL leads to something
   * else by then.
   */
  request: VideoQueueRequest
  media: readonly TakenMediaItem[]
  lengths: MediaLengths
}

/** Reads the media of requests: fetches, detects, measures. */
export class VideoMedia {
  readonly #probe: MediaProbe
  readonly #log: Log

  constructor({ probe, log }: { probe: MediaProbe; log: Log }) {
    this.#probe = probe
    this.#log = log
  }

  /**
   * Throws `invalidRequest`, `videoTooLong`, `videoTooShort` or `payloadTooLarge`, which name the field, and
   * `modelOffline` if nothing here can measure the file.
   */
  async take(
    request: VideoQueueRequest,
    { fetcher, signal }: Pick<Reading, 'fetcher' | 'signal'>,
  ): Promise<TakenMedia> {
    const media: TakenMediaItem[] = []
    const pinned = structuredClone(request)
    let room = requestMediaBytes
    // One after another, so that beside the kept files a request needs the memory of only one fetch.
    for (const named of namedMedia(request)) {
      const read = await readMediaItem(named, { fetcher, mostBytes: room, signal })
      room -= read.bytes.length
      if (room < 0) throw tooMuch()
      const { path, rule, role } = named
      // Consent to a media file applies to the bytes that the caller sent.
      const hash = createHash('sha256').update(read.bytes).digest('hex')
      const { seconds, ...taken } = await this.#measured(named, read, signal)
      room -= Math.max(0, taken.bytes.length - read.bytes.length)
      if (room < 0) throw tooMuch()
      media.push({ path, rule, role, ...taken, hash, seconds })
      if (taken.bytes !== read.bytes || !named.url.startsWith('data:')) pin(pinned, path, dataUrl(taken))
    }
    checkReferenceTotals(media)
    return { request: pinned, media, lengths: lengthsOf(media) }
  }

  /** Returns the media file for an engine: an image unchanged, any other rewritten from what was measured. */
  async #measured({ path, rule }: NamedMediaItem, read: ReadMediaItem, signal: AbortSignal) {
    const { bytes, format } = read
    if (rule.kind === 'image' || format === null) return { ...read, seconds: null }
    const probed = await this.#probe.probe(bytes, format, signal).catch(error => {
      signal.throwIfAborted()
      if (error instanceof ServiceError) throw error
      this.#log.error({ err: error }, 'A media file of a request could not be measured, so the request was refused.')
      throw isProbeMissing(error) ? modelOffline() : error
    })
    if (!probed) throw fieldError(path, `the ${format} file is cut off or damaged, or its codec is not supported`)
    if ('refused' in probed) throw fieldError(path, probed.refused)
    checkSeconds(path, probed.seconds, rule)
    checkFrames(path, probed)
    return { bytes: probed.bytes, format: probed.format, mimeType: mimeTypes[probed.format], seconds: probed.seconds }
  }
}

function lengthsOf(media: readonly TakenMediaItem[]): MediaLengths {
  const of = (field: string) => media.filter(({ path }) => path[0] === field).map(({ seconds }) => seconds ?? 0)
  const [video = null] = of('video_url')
  return { video, references: of('reference_video_urls').reduce((sum, seconds) => sum + seconds, 0) }
}

const dataUrl = ({ mimeType, bytes }: ReadMediaItem): string => `data:${mimeType};base64,${bytes.toString('base64')}`

/** Replaces the URL with the bytes. */
function pin(request: VideoQueueRequest, path: NamedMediaItem['path'], url: string): void {
  const inner = path.slice(0, -1).reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], request)
  const last = path.at(-1)
  if (last !== undefined) (inner as Record<string, unknown>)[last] = url
}

const tooMuch = () =>
  payloadTooLarge({
    code: 'PAYLOAD_TOO_LARGE',
    error: `The media of a request may have at most ${requestMediaBytes} bytes in total.`,
  })

type Timed = Exclude<MediaRule, { kind: 'image' }>

/** Throws 422 for a video, as published, and 400 for audio. */
function checkSeconds(path: NamedMediaItem['path'], seconds: number, { kind, least, most }: Timed): void {
  const isLong = seconds > most + secondsTolerance
  const isShort = seconds < least - secondsTolerance
  if (!isLong && !isShort) return
  const said = `is ${shown(seconds)} s long; ${least ? `${least} to ${most}` : `at most ${most}`} s are allowed`
  if (kind === 'audio') throw fieldError(path, said)
  throw isLong
    ? videoTooLong({ error: `Video duration exceeds the maximum allowed. ${path.join('.')} ${said}.` })
    : videoTooShort({ error: `Video duration is too short. ${path.join('.')} ${said}.` })
}

/**
 * Limits the frame rate, because the price is per second but the work is per frame; cinema has 24 frames per second,
 * games 120. Throws `invalidRequest`.
 */
function checkFrames(path: NamedMediaItem['path'], { seconds, frames }: Probed): void {
  if (frames === null || frames <= Math.max(seconds, 1) * videoFramesPerSecond) return
  throw fieldError(
    path,
    `has ${frames} frames in ${shown(seconds)} s; at most ${videoFramesPerSecond} a second are allowed`,
  )
}

/** Brief §2.6: reference clips may last 15 s in total, videos and audio separately. */
function checkReferenceTotals(media: readonly TakenMediaItem[]): void {
  for (const field of ['reference_video_urls', 'reference_audio_urls'] as const) {
    const clips = media.filter(({ path }) => path[0] === field)
    const total = clips.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0)
    if (total <= referenceTotalSeconds + secondsTolerance) continue
    const said = `last ${shown(total)} s in total; at most ${referenceTotalSeconds} s are allowed`
    if (field === 'reference_audio_urls') throw fieldError([field], said)
    throw videoTooLong({ error: `Video duration exceeds the maximum allowed. ${field} ${said}.` })
  }
}

const shown = (seconds: number): string => seconds.toFixed(1)

interface ReadMediaItem {
  bytes: Buffer
  mimeType: string
  /** Null for images. */
  format: MediaFormat | null
}

interface Reading {
  fetcher: Fetcher
  /** How many bytes the request may still use. */
  mostBytes: number
  signal: AbortSignal
}

/** Reads a media file of a type that its field accepts. Throws `invalidRequest`, which names the field. */
async function readMediaItem(named: NamedMediaItem, reading: Reading): Promise<ReadMediaItem> {
  const { path, url, rule } = named
  if (rule.kind === 'image') return imageItem(named, reading)
  const mostBytes = Math.min(rule.mostBytes, reading.mostBytes)
  const bytes = isAddress(url) ? await fetched(named, { ...reading, mostBytes }) : fromDataUrl(path, url, rule.kind)
  if (bytes.length > rule.mostBytes) throw fieldError(path, `may have ${rule.mostBytes} bytes at most`)
  const format = mediaFormat(bytes)
  if (format === null || !rule.formats.includes(format)) throw wrongFormat(path, rule)
  return { bytes, format, mimeType: mimeTypes[format] }
}

async function imageItem(named: NamedMediaItem, reading: Reading): Promise<ReadMediaItem> {
  const mostBytes = Math.min(imageFileBytes, reading.mostBytes)
  const read = isAddress(named.url)
    ? readImageBytes(null, await fetched(named, { ...reading, mostBytes }))
    : readImage(named.url)
  if (!read.ok) throw fieldError(named.path, read.problem)
  const { bytes, type } = read.image
  return { bytes, mimeType: `image/${type}`, format: null }
}

const isAddress = (url: string): boolean => /^https?:/i.test(url)

async function fetched({ path, url, rule }: NamedMediaItem, { fetcher, mostBytes, signal }: Reading): Promise<Buffer> {
  try {
    const accept = `${rule.kind}/*`
    return (await fetcher.fetch({ url, mostBytes, timeoutMs: fetchMs, accept, signal })).bytes
  } catch (error) {
    if (error instanceof FetchRefused) throw fieldError(path, error.message)
    throw error
  }
}

const dataUrlHead = /^data:(video|audio)\/[a-z0-9.+-]{1,40}((?:;[a-z0-9=._-]{1,60}){0,4});base64,/i

function fromDataUrl(path: NamedMediaItem['path'], url: string, kind: 'video' | 'audio'): Buffer {
  const head = dataUrlHead.exec(url)
  if (head?.[1]?.toLowerCase() !== kind) {
    throw fieldError(path, `must be a URL, or a data URL with base64: data:${kind}/TYPE;base64,…`)
  }
  const bytes = fromBase64(url.slice(head[0].length))
  if (!bytes) throw fieldError(path, 'the data URL is not valid base64')
  return bytes
}

/** The published sentences, for the formats that the field accepts. */
function wrongFormat(path: NamedMediaItem['path'], rule: Exclude<MediaRule, { kind: 'image' }>): ServiceError {
  const list = rule.formats.map(format => ({ mp4: 'MP4', mov: 'MOV', webm: 'WebM', wav: 'WAV', mp3: 'MP3' })[format])
  const formats = `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
  const error = `Invalid ${rule.kind} format. Supported formats are ${formats}.`
  return fieldError(path, `the bytes are not in any of the formats ${list.join(', ')}`, error)
}
