import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { PictureType } from '#contract/wire/image-header.ts'
import type { Conversion, ConversionInput } from '#host/media/conversion.ts'
import { MediaFailed, type RunMediaTask } from '#host/media/media-workers.ts'
import { complaintCharacters, encodedBytes, encodeMs } from '../bounds.ts'
import { imagePixels, readImage } from '../images/image-file.ts'
import {
  type MediaFormat,
  mediaFormat,
  type NamedMedium,
  namedMedia,
  upscaledSeconds,
  type VideoFormat,
} from '../video-media/request-media.ts'

/** The media of a request as the drawing uses them. */
export interface DrawnMedia {
  /** Behind everything: the given video, or the first frame. */
  base: ConversionInput | null
  /** Shown whole towards the end. */
  end: ConversionInput | null
  /** Small, side by side: references, elements and scenes, in the order of the contract. */
  tiles: readonly Tile[]
  /** Heard together, in the place of the chord. */
  audio: readonly ConversionInput[]
}

interface Tile {
  /** As a prompt calls it: `@Element1`, `@Image1`. */
  name: string
  input: ConversionInput
}

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
const imageReaders: Record<PictureType, string> = {
  png: 'png_pipe',
  jpeg: 'jpeg_pipe',
  webp: 'webp_pipe',
  gif: 'gif',
}
const formatReaders: Record<MediaFormat, string> = { mp4: 'mov', mov: 'mov', webm: 'matroska', wav: 'wav', mp3: 'mp3' }

/** Writes every medium of a request into the folder, where the encoder reads them. Throws `EncodeFailed`. */
export async function drawnMedia(folder: string, request: VideoQueueRequest): Promise<DrawnMedia> {
  const written: { medium: NamedMedium; input: ConversionInput }[] = []
  for (const [index, medium] of namedMedia(request).entries()) {
    written.push({ medium, input: await writeMedium(join(folder, `medium-${index}`), medium) })
  }
  const of = (field: string) => written.find(({ medium }) => medium.path[0] === field)?.input ?? null
  const video = of('video_url')
  // A request with both keeps its first frame as a tile.
  const whole = new Set(['end_image_url', video ? 'video_url' : 'image_url'])
  const tiles = written.flatMap(({ medium, input }): Tile[] =>
    medium.rule.kind === 'audio' || whole.has(String(medium.path[0])) ? [] : [{ name: nameOf(medium.path), input }],
  )
  const audio = written.filter(({ medium }) => medium.rule.kind === 'audio').map(({ input }) => input)
  return { base: video ?? of('image_url'), end: of('end_image_url'), tiles, audio }
}

async function writeMedium(path: string, { url, rule, path: field }: NamedMedium): Promise<ConversionInput> {
  const name = field.join('.')
  if (rule.kind === 'image') {
    const read = readImage(url)
    if (!read.ok) throw new EncodeFailed(`${name} cannot be used: ${read.problem}.`, read.problem)
    await writeFile(path, read.image.bytes)
    return { path, reader: imageReaders[read.image.type], isStill: true }
  }
  // It came whole, and was recognised when it was taken.
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  const format = mediaFormat(bytes)
  if (format === null) throw new EncodeFailed(`${name} cannot be read.`, 'unknown format')
  await writeFile(path, bytes)
  return { path, reader: formatReaders[format] }
}

function nameOf([field, index = 0]: NamedMedium['path']): string {
  const number = Number(index) + 1
  switch (field) {
    case 'elements':
      return `@Element${number}`
    case 'scene_image_urls':
      return `@Image${number}`
    case 'reference_video_urls':
      return `video ${number}`
    case 'image_url':
      return 'first frame'
    default:
      return `image ${number}`
  }
}

/** The reader of each format is named, so that no content is taken for a playlist or a script. */
const videoReaders: Record<VideoFormat, string> = { mp4: 'mov', mov: 'mov', webm: 'matroska' }

export interface Upscaling {
  sourcePath: string
  format: VideoFormat
  factor: 1 | 2 | 4
  outputPath: string
}

/** Enlarges a video by a sharp filter and keeps its pace and its audio. */
export function upscaling({ sourcePath, format, factor, outputPath }: Upscaling): Conversion {
  // Half of the colour's resolution must be whole.
  const even = (side: string) => `trunc(${side}*${factor}/2)*2`
  const enlarge = `scale=w='${even('iw')}':h='${even('ih')}':flags=lanczos,setsar=1,unsharp=3:3:0.4,format=yuv420p`
  return {
    inputs: [{ path: sourcePath, reader: videoReaders[format] }],
    tracks: [
      {
        ...{ kind: 'video', reads: [0], graph: `[in0]trim=end=${upscaledSeconds},${enlarge}` },
        ...{ encoder: 'libx264', options: { preset: 'ultrafast', crf: '22' } },
      },
      {
        ...{ kind: 'audio', reads: [0], graph: `[in0]atrim=end=${upscaledSeconds}`, isOptional: true },
        ...{ encoder: 'aac', options: { b: '96k' }, rate: 48_000, channels: 2 },
      },
    ],
    to: { path: outputPath, format: 'mp4', options: { movflags: '+faststart' }, mostBytes: encodedBytes },
    maxPixels: imagePixels,
  }
}

/** The encoder ended without a video. */
export class EncodeFailed extends Error {
  /** The encoder's own words, for the operator's log only. */
  readonly complaint: string

  constructor(message: string, complaint: string) {
    super(message)
    this.name = 'EncodeFailed'
    this.complaint = complaint
  }
}

/** Encodes a video after all requests. Throws `EncodeFailed`; an abort kills the encoder. */
export async function encode(run: RunMediaTask, work: Conversion): Promise<void> {
  try {
    await run('convert', work)
  } catch (error) {
    if (!(error instanceof MediaFailed)) throw error
    const complaint = error.message.slice(0, complaintCharacters)
    if (error.problem === 'late')
      throw new EncodeFailed(`The video encoder took longer than ${encodeMs / 1000} s.`, complaint)
    throw new EncodeFailed('The video encoder could not make this video.', complaint)
  }
}
