import { corruptedImage } from '#contract/errors/errors.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { optionalPackage, PackageMissing } from '#host/packages.ts'
import { TaskThread } from '#host/workers/task-thread.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'
import { imagePixels } from './image-file.ts'
import { decodePng, type Raster } from './png.ts'

/** Images that may wait for a thread; each may take some tens of megabytes. */
const imagesWaiting = 16

/** Timeout of one task; the largest image that a local model accepts takes some ten seconds. */
const imageTaskMs = 120_000

type ImageAnswer = { ok: true; bytes: Uint8Array } | { ok: false; problem: ImageProblem; message: string }

/** `missing`: the image's format needs a package that is not installed. */
type ImageProblem = 'unreadable' | 'missing' | 'failed'

/**
 * A thread on which images are decoded, changed and encoded, because a large one takes seconds. Each engine has its own
 * file for it.
 */
export class ImageWorker<Task> {
  readonly #thread: TaskThread<Task, ImageAnswer>

  /** The file must call `answerImageTasks`. */
  constructor(url: URL) {
    this.#thread = new TaskThread({ name: 'images', url, timeoutMs: imageTaskMs, waiting: imagesWaiting })
  }

  /** Throws `modelOverloaded` if too many wait, `corruptedImage`, `PackageMissing`, or an error that says what went wrong. */
  async run(task: Task, signal: AbortSignal): Promise<Buffer> {
    const answer = await this.#thread.run(task, signal)
    if (answer.ok) return Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength)
    if (answer.problem === 'unreadable') throw corruptedImage({ error: 'The image file is corrupted or unreadable' })
    if (answer.problem === 'missing') throw new PackageMissing(answer.message)
    throw new Error(answer.message)
  }

  /** Stops the thread; waiting tasks are refused. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}

/** The part of sharp that we use. */
interface Sharp {
  default(bytes: Uint8Array, options?: object): SharpImage
}

interface SharpImage {
  ensureAlpha(): SharpImage
  rotate(): SharpImage
  toColourspace(space: 'srgb'): SharpImage
  raw(): SharpImage
  blur(sigma: number): SharpImage
  metadata(): Promise<{ width?: number; height?: number }>
  toFormat(format: ImageFormat): SharpImage
  toBuffer(): Promise<Buffer>
  toBuffer(options: { resolveWithObject: true }): Promise<{ data: Buffer; info: { width: number; height: number } }>
}

/** An image whose bytes cannot be decoded. */
class UnreadableImage extends Error {
  override readonly name = 'UnreadableImage'
}

/** Returns the pixels of an image: plain PNGs without any package, all others with sharp. Throws `UnreadableImage`. */
export async function rasterOf(sent: Uint8Array): Promise<Raster> {
  const bytes = Buffer.from(sent)
  const type = typeOfBytes(bytes)
  try {
    const plain = type === 'png' ? decodePng(bytes) : null
    if (plain) return plain
  } catch {
    throw new UnreadableImage('The image cannot be decoded.')
  }
  const sharp = await optionalPackage<Sharp>('sharp', `Reading an image of the type ${type ?? 'unknown'}`)
  try {
    // Applies the orientation in a photo's header, because the result has no such header.
    const image = sharp.default(bytes, { limitInputPixels: imagePixels, failOn: 'error' }).rotate()
    const { data, info } = await image.toColourspace('srgb').ensureAlpha().raw().toBuffer({ resolveWithObject: true })
    return { width: info.width, height: info.height, rgba: data }
  } catch {
    throw new UnreadableImage('The image cannot be decoded.')
  }
}

/**
 * Converts an image to another format with sharp, or returns it unchanged if it already has that format. Throws
 * `UnreadableImage`.
 */
export async function convertImage(sent: Uint8Array, format: ImageFormat): Promise<Buffer> {
  const bytes = Buffer.from(sent)
  if (typeOfBytes(bytes) === format) return bytes
  const sharp = await optionalPackage<Sharp>('sharp', `Writing an image as ${format}`)
  try {
    return await sharp.default(bytes, { limitInputPixels: imagePixels }).toFormat(format).toBuffer()
  } catch {
    throw new UnreadableImage('The image cannot be decoded.')
  }
}

/** Weights of the four nearest pixels (Catmull–Rom), for a point at `part` between the second and the third. */
function weights(part: number): readonly [number, number, number, number] {
  const [square, cube] = [part * part, part * part * part]
  return [
    -0.5 * part + square - 0.5 * cube,
    1 - 2.5 * square + 1.5 * cube,
    0.5 * part + 2 * square - 1.5 * cube,
    -0.5 * square + 0.5 * cube,
  ]
}

/** Resizes an image bicubically: first along the rows, then along the columns. */
export function resample(image: Raster, width: number, height: number): Raster {
  const across = resampledRows(image, width)
  const down = resampledRows(turned(across), height)
  return turned(down)
}

function resampledRows({ width: from, height, rgba }: Raster, width: number): Raster {
  const made = Buffer.alloc(width * height * 4)
  for (let x = 0; x < width; x++) {
    const at = ((x + 0.5) * from) / width - 0.5
    const first = Math.floor(at)
    const [a, b, c, d] = weights(at - first)
    const column = (offset: number) => Math.min(from - 1, Math.max(0, first + offset)) * 4
    const [before, left, right, after] = [column(-1), column(0), column(1), column(2)]
    for (let y = 0; y < height; y++) {
      const row = y * from * 4
      for (let channel = 0; channel < 4; channel++) {
        const at = row + channel
        const value =
          a * (rgba[at + before] ?? 0) +
          b * (rgba[at + left] ?? 0) +
          c * (rgba[at + right] ?? 0) +
          d * (rgba[at + after] ?? 0)
        made[(y * width + x) * 4 + channel] = Math.max(0, Math.min(255, Math.round(value)))
      }
    }
  }
  return { width, height, rgba: made }
}

/** Transposes rows and columns. */
function turned({ width, height, rgba }: Raster): Raster {
  const made = Buffer.alloc(rgba.length)
  const [from, to] = [
    new Uint32Array(rgba.buffer, rgba.byteOffset, width * height),
    new Uint32Array(made.buffer, made.byteOffset, width * height),
  ]
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) to[x * height + y] = from[y * width + x] ?? 0
  }
  return { width: height, height: width, rgba: made }
}

/** Blur radius relative to the longer side: shapes remain, and nothing can be recognized. */
const blurShare = 1 / 16

/** Blurs an image beyond recognition, in the same format and size and without its metadata. Needs sharp. */
export async function blurImage(bytes: Uint8Array, format: ImageFormat): Promise<Buffer> {
  const sharp = await optionalPackage<Sharp>('sharp', 'Blurring images')
  const image = sharp.default(bytes)
  const { width = 0, height = 0 } = await image.metadata()
  return image
    .blur(Math.max(1, Math.max(width, height) * blurShare))
    .toFormat(format)
    .toBuffer()
}

/** The thread's side of an `ImageWorker`: an engine's thread calls it first. */
export function answerImageTasks<Task>(work: (task: Task) => Promise<Buffer>): void {
  answerTasks(async (task: Task): Promise<ImageAnswer> => {
    try {
      return { ok: true, bytes: await work(task) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { ok: false, problem: problemOf(error), message }
    }
  })
}

const problemOf = (error: unknown): ImageProblem =>
  error instanceof UnreadableImage ? 'unreadable' : error instanceof PackageMissing ? 'missing' : 'failed'
