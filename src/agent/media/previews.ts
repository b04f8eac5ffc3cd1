import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lowered } from '#contract/errors/as-clause.ts'
import { type ImageType, imageSize, typeOfBytes } from '#contract/wire/image-header.ts'
import { inFile, inFolder } from '#host/files.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { MediaFailed, MediaWorkers } from '#host/media/media-workers.ts'
import { jpegQuality } from '#host/media/tasks.ts'
import type { MediaBounds, SavedFile, Shown } from '#toolkit/tool-context.ts'
import * as bounds from '../bounds.ts'
import type { Files } from './files.ts'

/** The demuxer of each type is fixed, so that no content can pass for a playlist or a script. */
const readers: Readonly<Record<ImageType, string>> = {
  png: 'png_pipe',
  jpeg: 'jpeg_pipe',
  webp: 'webp_pipe',
  gif: 'gif',
}

/** Types that every assistant displays directly. */
const shownTypes: ReadonlySet<ImageType | null> = new Set<ImageType>(['png', 'jpeg', 'webp'])

type Within = Pick<MediaBounds, 'imagePixels' | 'imageBytes'>

interface Shrinking {
  within: Within
  signal: AbortSignal
  reader: string
  path: string
}

export class Previews {
  readonly #files: Files
  readonly #workers: MediaWorkers

  /** `program` replaces the file that the media process runs; for tests. */
  constructor(files: Files, program?: string) {
    this.#files = files
    this.#workers = new MediaWorkers({
      ...{ atOnce: bounds.previewsAtOnce, waiting: bounds.previewsWaiting, timeoutMs: bounds.previewMs },
      ...{ memoryMb: bounds.previewMemoryMb, ...(program ? { program } : {}) },
    })
  }

  /**
   * Returns an image within the limits, or a sentence that says why there is none. Never throws, because the result
   * itself is saved.
   */
  async of(file: SavedFile, within: Within, signal: AbortSignal): Promise<Shown> {
    try {
      const isVideo = file.mimeType.startsWith('video/')
      const made = isVideo ? this.#ofVideo(file, within, signal) : this.#ofImage(file, within, signal)
      return (await made) ?? none(unreadable)
    } catch (error) {
      return none(error instanceof FfmpegMissing ? `${error.problem} ${error.nextStep}` : unreadable)
    }
  }

  async #ofImage(file: SavedFile, within: Within, signal: AbortSignal): Promise<Shown | null> {
    const bytes = await this.#files.bytesOf(file, bounds.inputFileBytes)
    const type = typeOfBytes(bytes)
    const size = type && imageSize(type, bytes)
    if (!size) return null
    const longer = Math.max(size.width, size.height)
    const isSmall = longer <= within.imagePixels && bytes.byteLength <= within.imageBytes
    if (isSmall && shownTypes.has(type)) return imageOf(bytes, `image/${type}`)
    if (size.width * size.height > bounds.previewedPixels) return none('The image is too large for a preview.')
    return inFile('image', bytes, path =>
      this.#shrunk({ within, signal, reader: readers[type], path }, most => {
        const scale = Math.min(1, most / longer)
        const to = [size.width, size.height].map(side => Math.max(1, Math.round(side * scale)))
        // Transparent pixels have hidden colours, which must not appear.
        return `color=c=white:s=${to.join('x')},format=rgb24[w];[in0]scale=${to.join(':')},format=rgba[p];[w][p]overlay=format=rgb:shortest=1,format=yuvj420p`
      }),
    )
  }

  /** The first frame. A video is read in place, because it may be large. */
  async #ofVideo(file: SavedFile, within: Within, signal: AbortSignal): Promise<Shown | null> {
    const path = await this.#files.readablePath(file)
    const reader = file.mimeType === 'video/webm' ? 'matroska' : 'mov'
    return this.#shrunk(
      { within, signal, reader, path },
      most => `[in0]scale='min(${most},iw)':'min(${most},ih)':force_original_aspect_ratio=decrease,format=yuvj420p`,
    )
  }

  /**
   * Returns a JPEG; one that is too large is made again with stronger compression. Null if FFmpeg cannot read the
   * image.
   */
  #shrunk(
    { within, signal, reader, path }: Shrinking,
    filterFor: (mostPixels: number) => string,
  ): Promise<Shown | null> {
    const work = this.#workers.turn(
      run =>
        inFolder('preview', async folder => {
          for (const [size, coarseness] of tries) {
            const shrunk = join(folder, 'preview.jpg')
            const graph = `${filterFor(Math.ceil(within.imagePixels * size))},trim=end_frame=1`
            const options = jpegQuality(coarseness)
            await run('convert', {
              inputs: [{ path, reader, isStill: true }],
              tracks: [{ kind: 'video', reads: [0], graph, encoder: 'mjpeg', options }],
              to: { path: shrunk, format: 'mjpeg', mostBytes: Number.POSITIVE_INFINITY },
              // Checked here too, because a crafted image may be larger for the decoder than its header says.
              maxPixels: bounds.previewedPixels,
            })
            const bytes = await readFile(shrunk)
            if (bytes.length <= within.imageBytes) return imageOf(bytes, 'image/jpeg')
          }
          return null
        }),
      signal,
    )
    return work.catch(error => {
      if (error instanceof MediaFailed) return null
      throw error
    })
  }
}

/** The share of the allowed pixels and the compression (2 to 31) of each try. */
const tries = [
  [1, 5],
  [1, 15],
  [1 / 2, 20],
] as const

const unreadable = 'The file could not be read as an image in time.'

const none = (why: string): Shown => ({
  type: 'text',
  text: `The file is saved, but there is no preview: ${lowered(why)}`,
})

const imageOf = (bytes: Buffer, mimeType: string): Shown => ({
  type: 'image',
  data: bytes.toString('base64'),
  mimeType,
})
