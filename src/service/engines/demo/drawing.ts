import type { PictureType } from '#contract/picture-header.ts'
import type { Conversion, Track } from '#programs/media/conversion.ts'
import { picturePixels } from '../../pictures/bounds.ts'
import { encodedBytes } from '../bounds.ts'
import type { RawPicture } from './caption.ts'
import type { VideoPlan } from './video-plan.ts'

const framesPerSecond = 24

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
const readers: Record<PictureType, string> = { png: 'png_pipe', jpeg: 'jpeg_pipe', webp: 'webp_pipe', gif: 'gif' }

export interface Drawing {
  plan: VideoPlan
  caption: RawPicture
  captionPath: string
  image: { type: PictureType; path: string } | null
  outputPath: string
}

/** Draws a video. Numbers and paths of ours alone: nothing of a request's text is in them. */
export function drawing({ plan, caption, captionPath, image, outputPath }: Drawing): Conversion {
  const { width, height } = caption
  const raw = { pixel_format: 'rgba', video_size: `${width}x${height}`, framerate: `${framesPerSecond}` }
  const picture = image ? [{ path: image.path, reader: readers[image.type], isStill: true }] : []
  return {
    inputs: [{ path: captionPath, reader: 'rawvideo', options: raw, isStill: true }, ...picture],
    tracks: [
      {
        ...{ kind: 'video', reads: image ? [0, 1] : [0], graph: layers(plan, image !== null) },
        ...{ encoder: 'libx264', options: { preset: 'ultrafast', crf: '26' } },
      },
      ...(plan.audio ? [soundOf(plan)] : []),
    ],
    to: { path: outputPath, format: 'mp4', options: { movflags: '+faststart' }, mostBytes: encodedBytes },
    maxPixels: picturePixels,
  }
}

const soundOf = (plan: VideoPlan): Track => ({
  ...{ kind: 'audio', reads: [], graph: `${chord(plan)},atrim=end=${plan.seconds}` },
  ...{ encoder: 'aac', options: { b: '96k' }, rate: 44_100, channels: 1 },
})

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

/** The picture over the colours, two squares that wander over it, the caption over all. */
function layers(plan: VideoPlan, hasImage: boolean): string {
  const { width, height } = plan
  const fill = `scale=${width}:${height}:force_original_aspect_ratio=increase,crop=${width}:${height},setsar=1`
  const wander = (first: number) =>
    `x='(W-w)/2*(1+sin(t*${between(plan, first, 0.5, 2)}))':y='(H-h)/2*(1+cos(t*${between(plan, first + 1, 0.5, 2)}))'`
  return [
    `${background(plan)}[colours]`,
    `${shape(plan, 8, 0.22)}[one]`,
    `${shape(plan, 12, 0.15)}[other]`,
    ...(hasImage
      ? [`[in1]${fill}[image]`, '[colours][image]overlay=eof_action=repeat[base]']
      : ['[colours]null[base]']),
    `[base][one]overlay=${wander(24)}[first]`,
    `[first][other]overlay=${wander(26)}[second]`,
    `[second][in0]overlay=x=0:y=H-h:eof_action=repeat,trim=end=${plan.seconds},format=yuv420p`,
  ].join(';')
}
