import type { FaceMediaRole } from '#contract/errors/failures.ts'
import {
  mediaOfRequest,
  type RequestMediaItem,
  type VideoMediaField,
  type VideoQueueRequest,
} from '#contract/operations/video.ts'
import { sniffType } from '#contract/wire/media-type.ts'

/** Limits of reference media, in seconds and bytes (brief §2.6). */
const referenceSeconds = { least: 2, most: 15 }
export const referenceTotalSeconds = 15
const referenceVideoBytes = 50 * 1024 * 1024
export const musicSeconds = 30
export const audioBytes = 15 * 1024 * 1024

/** The longest video to upscale (published contract §4.2), and the largest video to process, in bytes. */
export const upscaledSeconds = 300
export const videoBytes = 50 * 1024 * 1024

/** A clip cut at 15 s has a last frame, or some silent samples, beyond it. */
export const secondsTolerance = 0.1

/** Frame rate of the fastest common displays. */
export const videoFramesPerSecond = 120

/** Audio packets per second: Opus has none shorter. */
const audioPacketsPerSecond = 400

/** Most packets of all tracks of the longest accepted video; reading this many takes some four seconds. */
export const videoPackets = (upscaledSeconds + 1) * (videoFramesPerSecond + audioPacketsPerSecond)

/** All decoded media of one request: they are one row of the store, which others write to at the same time. */
export const requestMediaBytes = 64 * 1024 * 1024

/** Timeout of fetching one media file: 50 MB at a megabyte per second. */
export const fetchMs = 60_000

/** Timeout of reading a media file's length without decoding; the largest takes a tenth of a second. */
export const probeMs = 15_000

/** Concurrent probes, and how many may wait. */
export const probesAtOnce = 2
export const probesWaiting = 200

/** Length of a video whose request leaves it to the model (`Auto`, `1 gen`). */
const modelChosenSeconds = 5

/** `8s` is 8; a model that decides itself makes videos of one known length. */
export const secondsOf = (duration: string): number => Number(/^(\d+)s$/.exec(duration)?.[1] ?? modelChosenSeconds)

/** Lengths of the media in a request, in seconds. */
export interface MediaLengths {
  /** Length of `video_url`; null if there is none. */
  video: number | null
  /** Total of all reference videos. */
  references: number
}

export const noMedia: MediaLengths = { video: null, references: 0 }

/** The smallest lengths that media which are not read yet may have. */
export const shortestMedia: MediaLengths = { video: 0, references: 0 }

const videoFormats = ['mp4', 'mov', 'webm'] as const
export type VideoFormat = (typeof videoFormats)[number]
const audioFormats = ['wav', 'mp3'] as const
type AudioFormat = (typeof audioFormats)[number]
export type MediaFormat = VideoFormat | AudioFormat

export const mimeTypes: Record<MediaFormat, string> = {
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
}

export const isVideoFormat = (format: MediaFormat): format is VideoFormat =>
  (videoFormats as readonly MediaFormat[]).includes(format)

/** Returns the format if engines accept it: of Matroska files only WebM, and of MPEG audio only layer III. */
export function mediaFormat(bytes: Buffer): MediaFormat | null {
  switch (sniffType(bytes)) {
    case 'video/mp4':
    case 'audio/mp4':
      return 'mp4'
    case 'video/quicktime':
      return 'mov'
    case 'video/webm':
      return bytes.subarray(0, 64).includes('webm') ? 'webm' : null
    case 'audio/wav':
      return 'wav'
    case 'audio/mpeg':
      return bytes[0] !== 0xff || ((bytes[1] ?? 0) & 0x06) === 0x02 ? 'mp3' : null
    default:
      return null
  }
}

/** What a media file in a field may be (brief §2.6). */
export type MediaRule =
  | { kind: 'image' }
  | { kind: 'video' | 'audio'; formats: readonly MediaFormat[]; mostBytes: number; least: number; most: number }

/** A media file of a request, and where it is. */
export interface NamedMediaItem {
  path: readonly (string | number)[]
  url: string
  rule: MediaRule
  /** Null if it cannot show a face. */
  role: FaceMediaRole | null
}

const image: MediaRule = { kind: 'image' }
const video: MediaRule = {
  kind: 'video',
  formats: videoFormats,
  mostBytes: videoBytes,
  least: 0,
  most: upscaledSeconds,
}
const referenceVideo: MediaRule = {
  kind: 'video',
  formats: ['mp4', 'mov'],
  mostBytes: referenceVideoBytes,
  ...referenceSeconds,
}
const music: MediaRule = {
  kind: 'audio',
  formats: audioFormats,
  mostBytes: audioBytes,
  least: 0,
  most: musicSeconds,
}
const referenceAudio: MediaRule = { ...music, ...referenceSeconds }

/** Returns every media file of a request with its rule. */
export const namedMedia = (request: VideoQueueRequest): NamedMediaItem[] =>
  mediaOfRequest(request).map(({ path, url, kind, role }) => ({ path, url, role, rule: ruleOf(kind, path[0]) }))

function ruleOf(kind: RequestMediaItem['kind'], field: VideoMediaField): MediaRule {
  if (kind === 'image') return image
  if (kind === 'video') return field === 'video_url' ? video : referenceVideo
  return field === 'audio_url' ? music : referenceAudio
}

/** Size, length and audio of the requested video. */
interface VideoPlan {
  width: number
  height: number
  seconds: number
  audio: boolean
}

const defaultShortSide = 480

const defaultRatio = [16, 9] as const

/** Returns the pixels of the shorter side; null for a resolution without a size, such as `2x`. */
export function shortSideOf(resolution: unknown): number | null {
  if (resolution === '4k') return 2_160
  const pixels = /^(?:true_)?(\d{3,4})p$/.exec(String(resolution))?.[1]
  return pixels === undefined ? null : Number(pixels)
}

export function videoPlan(request: VideoQueueRequest): VideoPlan {
  const shortSide = shortSideOf(request.resolution) ?? defaultShortSide
  const [across = defaultRatio[0], down = defaultRatio[1]] =
    request.aspect_ratio?.split(':').map(Number) ?? defaultRatio
  return {
    width: even(across >= down ? (shortSide * across) / down : shortSide),
    height: even(across >= down ? shortSide : (shortSide * down) / across),
    seconds: secondsOf(request.duration),
    audio: request.audio !== false,
  }
}

/** Chroma has half the resolution, which must be a whole number. */
const even = (side: number): number => Math.round(side / 2) * 2
