/** The worker thread on which the demonstrations draw and edit images. */

import { createHash } from 'node:crypto'
import { encodePng, type Pixels, type Raster } from '../images/png.ts'
import { answerImageTasks, convertImage, rasterOf, resample } from '../images/raster.ts'
import type { EditRequest } from '../ports/media-engines.ts'
import { drawCaption } from './caption.ts'
import type { DemoImageTask, ImageDrawing } from './images.ts'

answerImageTasks(async (task: DemoImageTask): Promise<Buffer> => {
  switch (task.kind) {
    case 'draw':
      return encodePng(drawImage(task.drawing))
    case 'edit': {
      const rasters = []
      for (const image of task.images) rasters.push(await rasterOf(image))
      return convertImage(await encodePng(editRaster(rasters, task.edit)), task.edit.format)
    }
    case 'upscale': {
      const raster = await rasterOf(task.image)
      const size = (side: number) => Math.max(1, Math.round(side * task.scale))
      return encodePng(resample(raster, size(raster.width), size(raster.height)))
    }
    case 'background':
      return encodePng(clearBackground(await rasterOf(task.image)))
  }
})

/** Draws colours derived from the words, with the words on top; the same for the same input. */
function drawImage(drawing: ImageDrawing): Pixels {
  const { width, height, prompt, negativePrompt, style, seed, strength, variant } = drawing
  const without = negativePrompt ? ` (without ${negativePrompt})` : ''
  const colours = createHash('sha256').update(`${seed} ${variant} ${style} ${prompt}${without}`).digest()
  const pixels = waves({ width, height }, colours, strength)
  writeOver(pixels.rgb, pixels, `${style ? `${style}: ` : ''}${prompt}${without}`)
  return pixels
}

/** Draws three waves of colour. */
function waves({ width, height }: Pick<Pixels, 'width' | 'height'>, colours: Buffer, strength: number): Pixels {
  const rgb = Buffer.alloc(width * height * 3)
  const at = (index: number) => (colours[index] ?? 0) / 255
  const channels = [0, 1, 2].map(channel => ({
    middle: 70 + 90 * at(channel),
    reach: (40 + 55 * at(channel + 3)) * strength,
    across: ((1 + 5 * at(channel + 6)) * 2 * Math.PI) / width,
    down: ((1 + 5 * at(channel + 9)) * 2 * Math.PI) / height,
    begin: 2 * Math.PI * at(channel + 12),
  }))
  for (const [channel, { middle, reach, across, down, begin }] of channels.entries()) {
    const columns = Float64Array.from({ length: width }, (_, x) => Math.sin(x * across + begin))
    for (let y = 0; y < height; y++) {
      const row = Math.cos(y * down + begin)
      for (let x = 0; x < width; x++) {
        // A value outside a byte's range would wrap around to another colour.
        const value = middle + (reach * ((columns[x] ?? 0) + row)) / 2
        rgb[(y * width + x) * 3 + channel] = Math.max(0, Math.min(255, value))
      }
    }
  }
  return { width, height, rgb }
}

/** `resolution` is a value such as `2K`: thousands of pixels on the longer side. */
type RasterEdit = Pick<EditRequest, 'prompt' | 'aspectRatio' | 'resolution' | 'quality'>

type Change = (rgba: Buffer, at: number) => void

const set = (rgba: Buffer, at: number, red: number, green: number, blue: number): void => {
  rgba[at] = Math.min(255, red)
  rgba[at + 1] = Math.min(255, green)
  rgba[at + 2] = Math.min(255, blue)
}

const coloursAt = (rgba: Buffer, at: number) => [rgba[at] ?? 0, rgba[at + 1] ?? 0, rgba[at + 2] ?? 0] as const

/** Perceived brightness of a colour (ITU-R BT.601). */
const brightness = (rgba: Buffer, at: number): number => {
  const [red, green, blue] = coloursAt(rgba, at)
  return 0.299 * red + 0.587 * green + 0.114 * blue
}

const scaled =
  (by: number): Change =>
  (rgba, at) => {
    const [red, green, blue] = coloursAt(rgba, at)
    set(rgba, at, red * by, green * by, blue * by)
  }

/** What the words of a prompt do to each pixel. Nothing else in it is understood. */
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
      const [red, green, blue] = coloursAt(rgba, at)
      set(rgba, at, 255 - red, 255 - green, 255 - blue)
    },
  ],
  [/\b(bright|brighter|brighten|lighter|lighten)\b/i, scaled(1.35)],
  [/\b(dark|darker|darken|night)\b/i, scaled(0.6)],
]

/**
 * Edits images without a model, as a demonstration: images are placed side by side, a few words of the prompt change
 * them (grey, sepia, invert, brighter, darker, mirror), and the prompt is written along the lower edge.
 */
function editRaster(
  images: readonly Raster[],
  { prompt, aspectRatio, resolution, quality = 'high' }: RasterEdit,
): Raster {
  const whole = sized(cropped(sideBySide(images), aspectRatio), resolution)
  for (const [words, change] of changes) {
    if (!words.test(prompt)) continue
    for (let at = 0; at < whole.rgba.length; at += 4) change(whole.rgba, at)
  }
  for (let at = 0; at < whole.rgba.length; at += 4) coarsen(whole.rgba, at, levels[quality])
  const turned = /\b(mirror|mirrored|flip|flipped)\b/i.test(prompt) ? mirrored(whole) : whole
  writeOver(turned.rgba, turned, prompt)
  return turned
}

/** Shades per colour channel for each quality. */
const levels = { low: 6, medium: 24, high: 256 }

function coarsen(rgba: Buffer, at: number, shades: number): void {
  if (shades >= 256) return
  const step = 255 / (shades - 1)
  const [red, green, blue] = coloursAt(rgba, at).map(value => Math.round(Math.round(value / step) * step))
  set(rgba, at, red ?? 0, green ?? 0, blue ?? 0)
}

function sized(image: Raster, resolution: string | undefined): Raster {
  const thousands = Number(/^([1-4])K$/i.exec(resolution ?? '')?.[1] ?? 0)
  if (thousands === 0) return image
  const by = (thousands * 1_024) / Math.max(image.width, image.height)
  const side = (length: number) => Math.max(1, Math.round(length * by))
  return resample(image, side(image.width), side(image.height))
}

function sideBySide(images: readonly Raster[]): Raster {
  const width = images.reduce((sum, image) => sum + image.width, 0)
  const height = Math.max(...images.map(image => image.height))
  const rgba = Buffer.alloc(width * height * 4)
  let left = 0
  for (const image of images) {
    for (let y = 0; y < image.height; y++) {
      image.rgba.copy(rgba, (y * width + left) * 4, y * image.width * 4, (y + 1) * image.width * 4)
    }
    left += image.width
  }
  return { width, height, rgba }
}

/** Crops to the middle, with this ratio. */
function cropped(image: Raster, ratio: string | undefined): Raster {
  const [across = 0, down = 0] = (ratio ?? '').split(':').map(Number)
  if (!(across > 0 && down > 0)) return image
  const width = Math.max(1, Math.min(image.width, Math.round((image.height * across) / down)))
  const height = Math.max(1, Math.min(image.height, Math.round((image.width * down) / across)))
  const left = (image.width - width) >> 1
  const top = (image.height - height) >> 1
  const rgba = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y++) {
    const from = ((top + y) * image.width + left) * 4
    image.rgba.copy(rgba, y * width * 4, from, from + width * 4)
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

/** Writes the words along the lower edge of an image with three or four bytes per pixel. */
function writeOver(pixels: Buffer, { width, height }: Pick<Raster, 'width' | 'height'>, words: string): void {
  const channels = pixels.length / (width * height)
  const caption = drawCaption(words, { width, height })
  const top = Math.max(0, height - caption.height)
  for (let y = 0; y < Math.min(caption.height, height); y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * caption.width + x) * 4
      const to = ((top + y) * width + x) * channels
      const opacity = (caption.rgba[from + 3] ?? 0) / 255
      for (let channel = 0; channel < 3; channel++) {
        const mixed = (caption.rgba[from + channel] ?? 0) * opacity + (pixels[to + channel] ?? 0) * (1 - opacity)
        pixels[to + channel] = Math.min(255, mixed)
      }
      if (channels === 4) pixels[to + 3] = 255
    }
  }
}

/** How far a colour may be from the border's and still count as background; the sum over three channels. */
const tolerance = 96

/**
 * Removes a background without a model, as a demonstration: pixels of nearly the border's colour that are connected to
 * the border become transparent. It works for a subject in front of one colour.
 */
function clearBackground({ width, height, rgba }: Raster): Raster {
  const cleared = Buffer.from(rgba)
  const background = borderColour({ width, height, rgba })
  const seen = new Uint8Array(width * height)
  const waiting: number[] = []
  const visit = (index: number) => {
    if (seen[index]) return
    seen[index] = 1
    if (distance(rgba, index * 4, background) <= tolerance) waiting.push(index)
  }
  for (const index of border(width, height)) visit(index)
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    cleared[index * 4 + 3] = 0
    const x = index % width
    if (x > 0) visit(index - 1)
    if (x < width - 1) visit(index + 1)
    if (index >= width) visit(index - width)
    if (index < width * (height - 1)) visit(index + width)
  }
  return { width, height, rgba: cleared }
}

function* border(width: number, height: number): Generator<number> {
  for (let x = 0; x < width; x++) yield* [x, (height - 1) * width + x]
  for (let y = 0; y < height; y++) yield* [y * width, y * width + width - 1]
}

/** Returns the median of each channel along the border, so that a subject touching it is outvoted. */
function borderColour({ width, height, rgba }: Raster): readonly number[] {
  const indices = [...border(width, height)]
  return [0, 1, 2].map(channel => {
    const values = Uint8Array.from(indices, index => rgba[index * 4 + channel] ?? 0).sort()
    return values[values.length >> 1] ?? 0
  })
}

const distance = (rgba: Buffer, at: number, colour: readonly number[]): number =>
  colour.reduce((sum, value, channel) => sum + Math.abs((rgba[at + channel] ?? 0) - value), 0)
