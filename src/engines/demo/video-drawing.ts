import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { ImageType } from '#contract/wire/image-header.ts'
import { MediaFailed, type RunMediaTask } from '#host/media/media-workers.ts'
import type { Conversion, ConversionInput, Track } from '#host/media/tasks.ts'
import { imagePixels, readImage } from '../images/image-file.ts'
import type { Raster } from '../images/png.ts'
import {
  type MediaFormat,
  mediaFormat,
  type NamedMediaItem,
  namedMedia,
  upscaledSeconds,
  type VideoFormat,
  videoPlan,
} from '../video-media/media-limits.ts'

/** A demonstration takes seconds; an encoder that takes longer than this is stuck. */
export const encodeMs = 120_000

/** Largest encoded file: ten seconds of 1080p are below 30 MB. */
export const encodedBytes = 200 * 1024 * 1024

/** How much to keep of an encoder's error output. */
const complaintCharacters = 2_000

const framesPerSecond = 24

/** Tiles per row; the others are placed in further rows. */
const tilesOfRow = 8

interface DrawingPlan extends ReturnType<typeof videoPlan> {
  /** Numbers from 0 to 255 derived only from the prompt: the same words give the same image. */
  seed: readonly number[]
}

/** Returns what to draw for a request. */
export const drawingPlan = (request: VideoQueueRequest): DrawingPlan => ({
  ...videoPlan(request),
  seed: [...createHash('sha256').update(request.prompt).digest()],
})

export interface VideoDrawing {
  plan: DrawingPlan
  caption: Raster
  captionPath: string
  media: DrawnMedia
  outputPath: string
}

/** Draws a video from our own numbers and paths only; no text of a request is in the command. */
export function drawnVideo({ plan, caption, captionPath, media, outputPath }: VideoDrawing): Conversion {
  const { width, height } = caption
  const raw = { pixel_format: 'rgba', video_size: `${width}x${height}`, framerate: `${framesPerSecond}` }
  const { base, end, tiles, audio } = media
  const seen = [
    { path: captionPath, reader: 'rawvideo', options: raw, isStill: true },
    ...(base ? [base] : []),
    ...tiles.map(({ input }) => input),
    ...(end ? [end] : []),
  ]
  return {
    inputs: [...seen, ...audio],
    tracks: [
      {
        ...{ kind: 'video', reads: seen.map((_, index) => index), graph: layers(plan, media) },
        ...{ encoder: 'libx264', options: { preset: 'ultrafast', crf: '26' } },
      },
      ...(plan.audio
        ? [
            audioTrack(
              plan,
              audio.map((_, index) => seen.length + index),
            ),
          ]
        : []),
    ],
    to: { path: outputPath, format: 'mp4', options: { movflags: '+faststart' }, mostBytes: encodedBytes },
    maxPixels: imagePixels,
  }
}

const audioTrack = (plan: DrawingPlan, reads: readonly number[]): Track => ({
  ...{ kind: 'audio', reads, graph: `${reads.length ? mixed(reads.length) : chord(plan)},atrim=end=${plan.seconds}` },
  ...{ encoder: 'aac', options: { b: '96k' }, rate: 44_100, channels: 1 },
})

/** Mixes the given audio tracks; tracks that end before the video are padded with silence. */
function mixed(count: number): string {
  const each = Array.from({ length: count }, (_, index) => {
    const plain = `[in${index}]aresample=44100,aformat=sample_fmts=fltp:channel_layouts=mono,apad`
    return count === 1 ? plain : `${plain}[sound${index}]`
  })
  if (count === 1) return each.join('')
  const all = Array.from({ length: count }, (_, index) => `[sound${index}]`).join('')
  return `${each.join(';')};${all}amix=inputs=${count}:duration=longest`
}

const at = (plan: DrawingPlan, index: number): number => plan.seed[index % plan.seed.length] ?? 0

/** Returns a value between `low` and `high`, chosen by the prompt. */
const between = (plan: DrawingPlan, index: number, low: number, high: number): string =>
  (low + ((high - low) * at(plan, index)) / 255).toFixed(3)

/** Drifting colours, computed at a small size and enlarged, because computing every pixel would take minutes. */
function background(plan: DrawingPlan): string {
  const wave = (first: number, along: string) =>
    `${between(plan, first, 70, 150)}+${between(plan, first + 1, 50, 100)}*sin(${along}/${between(plan, first + 2, 5, 20)}+T*${between(plan, first + 3, 0.4, 1.6)})`
  const drawn = `geq=r='${wave(0, 'X')}':g='${wave(4, '(Y+X/3)')}':b='${wave(16, '(X-Y)')}'`
  return `nullsrc=s=64x36:r=${framesPerSecond},${drawn},scale=${plan.width}:${plan.height}:flags=bicubic,setsar=1,format=yuv420p`
}

function shape(plan: DrawingPlan, first: number, part: number): string {
  const side = Math.round(Math.min(plan.width, plan.height) * part)
  const colour = [0, 1, 2]
    .map(index =>
      at(plan, first + index)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')
  return `color=c=0x${colour}:s=${side}x${side}:r=${framesPerSecond},format=rgba,colorchannelmixer=aa=0.8`
}

function chord(plan: DrawingPlan): string {
  const root = 110 * 2 ** (Math.round(at(plan, 20) / 21) / 12)
  const tone = (ratio: number, part: number) => `${part}*sin(2*PI*${(root * ratio).toFixed(2)}*t)`
  return `aevalsrc='(${tone(1, 0.12)}+${tone(1.25, 0.08)}+${tone(1.5, 0.08)})*(0.7+0.3*sin(2*PI*${between(plan, 21, 0.3, 2)}*t))':s=44100`
}

/**
 * Layers: the given video or image at the bottom, then two moving squares, the tiles, the end frame, and the caption on
 * top.
 */
function layers(plan: DrawingPlan, { base, end, tiles }: DrawnMedia): string {
  const first = base ? 2 : 1
  return [
    `${background(plan)}[colours]`,
    `${shape(plan, 8, 0.22)}[one]`,
    `${shape(plan, 12, 0.15)}[other]`,
    ...(base
      ? [`[in1]${filling(plan)}[base]`, '[colours][base]overlay=eof_action=repeat[below]']
      : ['[colours]null[below]']),
    `[below][one]overlay=${wandering(plan, 24)}[first]`,
    `[first][other]overlay=${wandering(plan, 26)}[tiled0]`,
    ...tiles.flatMap((_, index) => tileLayer(plan, index, first + index)),
    ...(end
      ? [
          `[in${first + tiles.length}]${filling(plan)}[end]`,
          `[tiled${tiles.length}][end]overlay=eof_action=repeat:enable='gte(t,${(plan.seconds * endPart).toFixed(3)})'[drawn]`,
        ]
      : [`[tiled${tiles.length}]null[drawn]`]),
    `[drawn][in0]overlay=x=0:y=H-h:eof_action=repeat,trim=end=${plan.seconds},format=yuv420p`,
  ].join(';')
}

/** From this fraction of the video on, the end frame covers everything else. */
const endPart = 0.7

const filling = ({ width, height }: Pick<DrawingPlan, 'width' | 'height'>): string =>
  `setpts=PTS-STARTPTS,scale=${width}:${height}:force_original_aspect_ratio=increase,crop=${width}:${height},setsar=1`

const wandering = (plan: DrawingPlan, first: number): string =>
  `x='(W-w)/2*(1+sin(t*${between(plan, first, 0.5, 2)}))':y='(H-h)/2*(1+cos(t*${between(plan, first + 1, 0.5, 2)}))'`

/** References are placed in rows from the upper edge; a video plays there and then holds its last frame. */
function tileLayer(plan: DrawingPlan, index: number, input: number): string[] {
  const width = Math.floor(plan.width / tilesOfRow / 2) * 2
  const height = Math.floor((width * 3) / 8) * 2
  const [x, y] = [(index % tilesOfRow) * width, Math.floor(index / tilesOfRow) * height]
  return [
    `[in${input}]${filling({ width, height })}[tile${index}]`,
    `[tiled${index}][tile${index}]overlay=x=${x}:y=${y}:eof_action=repeat[tiled${index + 1}]`,
  ]
}

/** The media of a request as the drawing uses them. */
export interface DrawnMedia {
  /** The background: the given video, or the first frame. */
  base: ConversionInput | null
  /** Fills the image towards the end. */
  end: ConversionInput | null
  /** Small, side by side: references, elements and scenes, in the contract's order. */
  tiles: readonly Tile[]
  /** Mixed together, instead of the chord. */
  audio: readonly ConversionInput[]
}

interface Tile {
  /** As prompts refer to it: `@Element1`, `@Image1`. */
  name: string
  input: ConversionInput
}

/** The demuxer of each type is fixed, so that no content can pass for a playlist or a script. */
const imageReaders: Record<ImageType, string> = {
  png: 'png_pipe',
  jpeg: 'jpeg_pipe',
  webp: 'webp_pipe',
  gif: 'gif',
}
const formatReaders: Record<MediaFormat, string> = { mp4: 'mov', mov: 'mov', webm: 'matroska', wav: 'wav', mp3: 'mp3' }

/** Writes every media file of a request into the folder for the encoder. Throws `EncodeFailed`. */
export async function drawnMedia(folder: string, request: VideoQueueRequest): Promise<DrawnMedia> {
  const written: { item: NamedMediaItem; input: ConversionInput }[] = []
  for (const [index, item] of namedMedia(request).entries()) {
    written.push({ item, input: await writeMediaItem(join(folder, `media-${index}`), item) })
  }
  const of = (field: string) => written.find(({ item }) => item.path[0] === field)?.input ?? null
  const video = of('video_url')
  // If a request has both, its first frame becomes a tile.
  const whole = new Set(['end_image_url', video ? 'video_url' : 'image_url'])
  const tiles = written.flatMap(({ item, input }): Tile[] =>
    item.rule.kind === 'audio' || whole.has(String(item.path[0])) ? [] : [{ name: nameOf(item.path), input }],
  )
  const audio = written.filter(({ item }) => item.rule.kind === 'audio').map(({ input }) => input)
  return { base: video ?? of('image_url'), end: of('end_image_url'), tiles, audio }
}

async function writeMediaItem(path: string, { url, rule, path: field }: NamedMediaItem): Promise<ConversionInput> {
  const name = field.join('.')
  if (rule.kind === 'image') {
    const read = readImage(url)
    if (!read.ok) throw new EncodeFailed(`${name} cannot be used: ${read.problem}.`, read.problem)
    await writeFile(path, read.image.bytes)
    return { path, reader: imageReaders[read.image.type], isStill: true }
  }
  // It arrived complete, and was detected when it was accepted.
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  const format = mediaFormat(bytes)
  if (format === null) throw new EncodeFailed(`${name} cannot be read.`, 'unknown format')
  await writeFile(path, bytes)
  return { path, reader: formatReaders[format] }
}

function nameOf([field, index = 0]: NamedMediaItem['path']): string {
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

export interface Upscaling {
  sourcePath: string
  format: VideoFormat
  factor: 1 | 2 | 4
  outputPath: string
}

/** Enlarges a video with a sharpening filter, and keeps its frame rate and audio. */
export function upscaling({ sourcePath, format, factor, outputPath }: Upscaling): Conversion {
  // Chroma has half the resolution, which must be a whole number.
  const even = (side: string) => `trunc(${side}*${factor}/2)*2`
  const enlarge = `scale=w='${even('iw')}':h='${even('ih')}':flags=lanczos,setsar=1,unsharp=3:3:0.4,format=yuv420p`
  return {
    inputs: [{ path: sourcePath, reader: formatReaders[format] }],
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

/** The encoder ended without producing a video. */
export class EncodeFailed extends Error {
  /** The encoder's own output, only for the operator's log. */
  readonly complaint: string

  constructor(message: string, complaint: string) {
    super(message)
    this.name = 'EncodeFailed'
    this.complaint = complaint
  }
}

/** Encodes a video, with lower priority than requests. Throws `EncodeFailed`; an abort kills the encoder. */
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
