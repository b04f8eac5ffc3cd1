import type { FaceMediaRole } from '#contract/errors/failures.ts'
import {
  mediaOfRequest,
  type RequestMedium,
  type VideoMediaField,
  type VideoQueueRequest,
} from '#contract/operations/video.ts'
import { sniffType } from '#contract/wire/media-type.ts'

/** Of reference media, in seconds and bytes (brief §2.6). */
export const referenceSeconds = { least: 2, most: 15 }
export const referenceTotalSeconds = 15
export const referenceVideoBytes = 50 * 1024 * 1024
export const musicSeconds = 30
export const audioBytes = 15 * 1024 * 1024

/** The longest video that is upscaled (published contract §4.2), and the bytes of any video that is worked on. */
export const upscaledSeconds = 300
export const videoBytes = 50 * 1024 * 1024

/** A clip that was cut at 15 s has a last frame, or some samples of silence, beyond it. */
export const secondsTolerance = 0.1

/** Frames a second of the fastest displays in common use. */
export const videoFramesPerSecond = 120

/** Packets of audio of a second: Opus has no shorter ones. */
export const audioPacketsPerSecond = 400

/** Packets of all tracks of a video, the longest one that is taken; reading so many takes some four seconds. */
export const videoPackets = (upscaledSeconds + 1) * (videoFramesPerSecond + audioPacketsPerSecond)

/** All media of one request, decoded: they are one row of the store, which others write to at the same time. */
export const requestMediaBytes = 64 * 1024 * 1024

/** Fetching one media file; 50 MB at a megabyte a second. */
export const fetchMs = 60_000

/** Reading the length of a media file, without decoding it; the largest takes a tenth of a second. */
export const probeMs = 15_000

/** Probes that run at once, and that wait for one of them. */
export const probesAtOnce = 2
export const probesWaiting = 200

/** Length of a video whose request leaves it to the model (`Auto`, `1 gen`). */
export const modelChosenSeconds = 5

/** `8s` is 8; a model that decides itself makes a video of one known length. */
export const secondsOf = (duration: string): number => Number(/^(\d+)s$/.exec(duration)?.[1] ?? modelChosenSeconds)

/** Lengths that were found in a request's media, in seconds. */
export interface MediaLengths {
  /** Of `video_url`; null where there is none. */
  video: number | null
  /** Of all reference videos together. */
  references: number
}

export const noMedia: MediaLengths = { video: null, references: 0 }

/** The least that media which nobody has read yet may turn out to be. */
export const shortestMedia: MediaLengths = { video: 0, references: 0 }

export const videoFormats = ['mp4', 'mov', 'webm'] as const
export type VideoFormat = (typeof videoFormats)[number]
export const audioFormats = ['wav', 'mp3'] as const
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

/** What engines take of the types there are: of Matroska files WebM, and of MPEG audio only layer III. */
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

/** What a media file of one field may be (brief §2.6). */
export type MediumRule =
  | { kind: 'image' }
  | { kind: 'video' | 'audio'; formats: readonly MediaFormat[]; mostBytes: number; least: number; most: number }

/** A media file of a request, where it stands in there. */
export interface NamedMedium {
  path: readonly (string | number)[]
  url: string
  rule: MediumRule
  /** Null for what shows nobody. */
  role: FaceMediaRole | null
}

const image: MediumRule = { kind: 'image' }
const video: MediumRule = {
  kind: 'video',
  formats: videoFormats,
  mostBytes: videoBytes,
  least: 0,
  most: upscaledSeconds,
}
const referenceVideo: MediumRule = {
  kind: 'video',
  formats: ['mp4', 'mov'],
  mostBytes: referenceVideoBytes,
  ...referenceSeconds,
}
const music: MediumRule = {
  kind: 'audio',
  formats: audioFormats,
  mostBytes: audioBytes,
  least: 0,
  most: musicSeconds,
}
const referenceAudio: MediumRule = { ...music, ...referenceSeconds }

/** Every media file of a request with its rule. */
export const namedMedia = (request: VideoQueueRequest): NamedMedium[] =>
  mediaOfRequest(request).map(({ path, url, kind, role }) => ({ path, url, role, rule: ruleOf(kind, path[0]) }))

function ruleOf(kind: RequestMedium['kind'], field: VideoMediaField): MediumRule {
  if (kind === 'image') return image
  if (kind === 'video') return field === 'video_url' ? video : referenceVideo
  return field === 'audio_url' ? music : referenceAudio
}

/** Size, length and audio of the video that a request asks for. */
export interface VideoPlan {
  width: number
  height: number
  seconds: number
  audio: boolean
}

export const defaultShortSide = 480

export const defaultRatio = [16, 9] as const

/** Pixels of the shorter side; null for a resolution that says none, such as `2x`. */
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

/** Half of the colour's resolution must be whole. */
export const even = (side: number): number => Math.round(side / 2) * 2
