import { createHash } from 'node:crypto'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Conversion, Track } from '#host/media/conversion.ts'
import { encodedBytes } from '../bounds.ts'
import { imagePixels } from '../images/image-file.ts'
import { secondsOf } from '../video-media/request-media.ts'
import type { RawImage } from './caption.ts'
import type { DrawnMedia } from './video-conversion.ts'

const framesPerSecond = 24

/** Side by side in one row; the others stand below. */
const tilesOfRow = 8

export interface VideoDrawing {
  plan: VideoPlan
  caption: RawImage
  captionPath: string
  media: DrawnMedia
  outputPath: string
}

/** Draws a video. Numbers and paths of ours alone: nothing of a request's text is in them. */
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

const audioTrack = (plan: VideoPlan, reads: readonly number[]): Track => ({
  ...{ kind: 'audio', reads, graph: `${reads.length ? mixed(reads.length) : chord(plan)},atrim=end=${plan.seconds}` },
  ...{ encoder: 'aac', options: { b: '96k' }, rate: 44_100, channels: 1 },
})

/** Given audio at once; silence follows what end before the video. */
function mixed(count: number): string {
  const each = Array.from({ length: count }, (_, index) => {
    const plain = `[in${index}]aresample=44100,aformat=sample_fmts=fltp:channel_layouts=mono,apad`
    return count === 1 ? plain : `${plain}[sound${index}]`
  })
  if (count === 1) return each.join('')
  const all = Array.from({ length: count }, (_, index) => `[sound${index}]`).join('')
  return `${each.join(';')};${all}amix=inputs=${count}:duration=longest`
}

const at = (plan: VideoPlan, index: number): number => plan.seed[index % plan.seed.length] ?? 0

/** A value between `low` and `high` that the prompt chooses. */
const between = (plan: VideoPlan, index: number, low: number, high: number): string =>
  (low + ((high - low) * at(plan, index)) / 255).toFixed(3)

/** Drifting colours, computed on a stamp and enlarged, because computing every pixel would take minutes. */
function background(plan: VideoPlan): string {
  const wave = (first: number, along: string) =>
    `${between(plan, first, 70, 150)}+${between(plan, first + 1, 50, 100)}*sin(${along}/${between(plan, first + 2, 5, 20)}+T*${between(plan, first + 3, 0.4, 1.6)})`
  const drawn = `geq=r='${wave(0, 'X')}':g='${wave(4, '(Y+X/3)')}':b='${wave(16, '(X-Y)')}'`
  return `nullsrc=s=64x36:r=${framesPerSecond},${drawn},scale=${plan.width}:${plan.height}:flags=bicubic,setsar=1,format=yuv420p`
}

function shape(plan: VideoPlan, first: number, part: number): string {
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

function chord(plan: VideoPlan): string {
  const root = 110 * 2 ** (Math.round(at(plan, 20) / 21) / 12)
  const tone = (ratio: number, part: number) => `${part}*sin(2*PI*${(root * ratio).toFixed(2)}*t)`
  return `aevalsrc='(${tone(1, 0.12)}+${tone(1.25, 0.08)}+${tone(1.5, 0.08)})*(0.7+0.3*sin(2*PI*${between(plan, 21, 0.3, 2)}*t))':s=44100`
}

/** Below, the given video or image; over it two squares that wander, the tiles, the end frame, and the caption over all. */
function layers(plan: VideoPlan, { base, end, tiles }: DrawnMedia): string {
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

/** When the end frame takes the place of everything else, as a part of the video. */
const endPart = 0.7

const filling = ({ width, height }: Pick<VideoPlan, 'width' | 'height'>): string =>
  `setpts=PTS-STARTPTS,scale=${width}:${height}:force_original_aspect_ratio=increase,crop=${width}:${height},setsar=1`

const wandering = (plan: VideoPlan, first: number): string =>
  `x='(W-w)/2*(1+sin(t*${between(plan, first, 0.5, 2)}))':y='(H-h)/2*(1+cos(t*${between(plan, first + 1, 0.5, 2)}))'`

/** A reference has its place in rows from the upper edge; a video moves there, and holds its last frame. */
function tileLayer(plan: VideoPlan, index: number, input: number): string[] {
  const width = Math.floor(plan.width / tilesOfRow / 2) * 2
  const height = Math.floor((width * 3) / 8) * 2
  const [x, y] = [(index % tilesOfRow) * width, Math.floor(index / tilesOfRow) * height]
  return [
    `[in${input}]${filling({ width, height })}[tile${index}]`,
    `[tiled${index}][tile${index}]overlay=x=${x}:y=${y}:eof_action=repeat[tiled${index + 1}]`,
  ]
}

/** What a request comes to before anything is drawn. */
interface VideoPlan {
  width: number
  height: number
  seconds: number
  audio: boolean
  /** Numbers from 0 to 255 that follow from the prompt alone: the same words, the same image. */
  seed: readonly number[]
}

const defaultShortSide = 480
const defaultRatio = [16, 9] as const

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
    seed: [...createHash('sha256').update(request.prompt).digest()],
  }
}

/** Half of the colour's resolution must be whole. */
const even = (side: number): number => Math.round(side / 2) * 2
