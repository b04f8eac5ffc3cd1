import type { EditRequest } from '../engine.ts'
import type { Raster } from '../pictures/encode-png.ts'
import { resample } from '../pictures/resample.ts'
import { drawCaption } from './caption.ts'

/** `resolution` is such as `2K`, the thousands of pixels of the longer side. */
export type RasterEdit = Pick<EditRequest, 'prompt' | 'aspectRatio' | 'resolution' | 'quality'>

type Change = (rgba: Buffer, at: number) => void

const set = (rgba: Buffer, at: number, red: number, green: number, blue: number): void => {
  rgba[at] = Math.min(255, red)
  rgba[at + 1] = Math.min(255, green)
  rgba[at + 2] = Math.min(255, blue)
}

const colours = (rgba: Buffer, at: number) => [rgba[at] ?? 0, rgba[at + 1] ?? 0, rgba[at + 2] ?? 0] as const

/** How bright eyes find a colour (ITU-R BT.601). */
const brightness = (rgba: Buffer, at: number): number => {
  const [red, green, blue] = colours(rgba, at)
  return 0.299 * red + 0.587 * green + 0.114 * blue
}

const scaled =
  (by: number): Change =>
  (rgba, at) => {
    const [red, green, blue] = colours(rgba, at)
    set(rgba, at, red * by, green * by, blue * by)
  }

/** What the words of a prompt do to each pixel. Nothing else of it is understood. */
const changes: readonly (readonly [words: RegExp, change: Change])[] = [
  [
    /\b(gr[ae]y|grayscale|greyscale|black and white|monochrome)\b/i,
    (rgba, at) => {
      const grey = brightness(rgba, at)
      set(rgba, at, grey, grey, grey)
    },
  ],
  [
    /\bsepia\b/i,
    (rgba, at) => {
      const grey = brightness(rgba, at)
      set(rgba, at, grey * 1.07, grey * 0.86, grey * 0.67)
    },
  ],
  [
    /\b(invert|inverted|negative)\b/i,
    (rgba, at) => {
      const [red, green, blue] = colours(rgba, at)
      set(rgba, at, 255 - red, 255 - green, 255 - blue)
    },
  ],
  [/\b(bright|brighter|brighten|lighter|lighten)\b/i, scaled(1.35)],
  [/\b(dark|darker|darken|night)\b/i, scaled(0.6)],
]

/**
 * A demonstration of an edit, without a model: pictures stand side by side, a few words of the prompt change them
 * (grey, sepia, invert, brighter, darker, mirror), and the prompt is written over the lower edge.
 */
export function editRaster(
  pictures: readonly Raster[],
  { prompt, aspectRatio, resolution, quality = 'high' }: RasterEdit,
): Raster {
  const whole = sized(cropped(sideBySide(pictures), aspectRatio), resolution)
  for (const [words, change] of changes) {
    if (!words.test(prompt)) continue
    for (let at = 0; at < whole.rgba.length; at += 4) change(whole.rgba, at)
  }
  for (let at = 0; at < whole.rgba.length; at += 4) coarsen(whole.rgba, at, levels[quality])
  const turned = /\b(mirror|mirrored|flip|flipped)\b/i.test(prompt) ? mirrored(whole) : whole
  writeOver(turned, prompt)
  return turned
}

/** Shades of each colour that a quality has. */
const levels = { low: 6, medium: 24, high: 256 }

function coarsen(rgba: Buffer, at: number, shades: number): void {
  if (shades >= 256) return
  const step = 255 / (shades - 1)
  const [red, green, blue] = colours(rgba, at).map(value => Math.round(Math.round(value / step) * step))
  set(rgba, at, red ?? 0, green ?? 0, blue ?? 0)
}

function sized(picture: Raster, resolution: string | undefined): Raster {
  const thousands = Number(/^([1-4])K$/i.exec(resolution ?? '')?.[1] ?? 0)
  if (thousands === 0) return picture
  const by = (thousands * 1_024) / Math.max(picture.width, picture.height)
  const side = (length: number) => Math.max(1, Math.round(length * by))
  return resample(picture, side(picture.width), side(picture.height))
}

function sideBySide(pictures: readonly Raster[]): Raster {
  const width = pictures.reduce((sum, picture) => sum + picture.width, 0)
  const height = Math.max(...pictures.map(picture => picture.height))
  const rgba = Buffer.alloc(width * height * 4)
  let left = 0
  for (const picture of pictures) {
    for (let y = 0; y < picture.height; y++) {
      picture.rgba.copy(rgba, (y * width + left) * 4, y * picture.width * 4, (y + 1) * picture.width * 4)
    }
    left += picture.width
  }
  return { width, height, rgba }
}

/** The middle of it, in the ratio. */
function cropped(picture: Raster, ratio: string | undefined): Raster {
  const [across = 0, down = 0] = (ratio ?? '').split(':').map(Number)
  if (!(across > 0 && down > 0)) return picture
  const width = Math.max(1, Math.min(picture.width, Math.round((picture.height * across) / down)))
  const height = Math.max(1, Math.min(picture.height, Math.round((picture.width * down) / across)))
  const left = (picture.width - width) >> 1
  const top = (picture.height - height) >> 1
  const rgba = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y++) {
    const from = ((top + y) * picture.width + left) * 4
    picture.rgba.copy(rgba, y * width * 4, from, from + width * 4)
  }
  return { width, height, rgba }
}

function mirrored({ width, height, rgba }: Raster): Raster {
  const turned = Buffer.alloc(rgba.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      rgba.copy(turned, (y * width + width - 1 - x) * 4, (y * width + x) * 4, (y * width + x + 1) * 4)
    }
  }
  return { width, height, rgba: turned }
}

function writeOver(picture: Raster, words: string): void {
  const caption = drawCaption(words, picture)
  const top = Math.max(0, picture.height - caption.height)
  for (let y = 0; y < Math.min(caption.height, picture.height); y++) {
    for (let x = 0; x < picture.width; x++) {
      const from = (y * caption.width + x) * 4
      const to = ((top + y) * picture.width + x) * 4
      const opacity = (caption.rgba[from + 3] ?? 0) / 255
      const mixed = (channel: number) =>
        (caption.rgba[from + channel] ?? 0) * opacity + (picture.rgba[to + channel] ?? 0) * (1 - opacity)
      set(picture.rgba, to, mixed(0), mixed(1), mixed(2))
      picture.rgba[to + 3] = 255
    }
  }
}
