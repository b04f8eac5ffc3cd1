import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ImageType, imageSize, typeOfBytes } from '#contract/wire/image-header.ts'
import { inFile, inFolder } from '#host/files.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { MediaFailed, MediaWorkers } from '#host/media/media-workers.ts'
import { jpegQuality } from '#host/media/tasks.ts'
import type { SavedFile, Shown } from '#toolkit/tool-context.ts'
import * as bounds from '../bounds.ts'
import type { Files } from './files.ts'

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
const readers: Readonly<Record<ImageType, string>> = {
  png: 'png_pipe',
  jpeg: 'jpeg_pipe',
  webp: 'webp_pipe',
  gif: 'gif',
}

/** Types that every assistant shows as they are. */
const shownTypes: ReadonlySet<ImageType | null> = new Set<ImageType>(['png', 'jpeg', 'webp'])

/** Previews of saved images and videos. */
export class Previews {
  readonly #files: Files
  readonly #workers: MediaWorkers

  /** `program` is in place of the file that the media process runs; a test owns it. */
  constructor(files: Files, program?: string) {
    this.#files = files
    this.#workers = new MediaWorkers({
      ...{ atOnce: bounds.previewsAtOnce, waiting: bounds.previewsWaiting, timeoutMs: bounds.previewMs },
      ...{ memoryMb: bounds.previewMemoryMb, ...(program ? { program } : {}) },
    })
  }

  /** One image within the bounds, or a sentence that says why there is none. Never throws: what was made is saved. */
  async of(file: SavedFile, signal: AbortSignal): Promise<Shown> {
    try {
      const isFilm = file.mimeType.startsWith('video/')
      return (await (isFilm ? this.#ofFilm(file, signal) : this.#ofPicture(file, signal))) ?? none(unreadable)
    } catch (error) {
      return none(error instanceof FfmpegMissing ? `${error.problem} ${error.nextStep}` : unreadable)
    }
  }

  async #ofPicture(file: SavedFile, signal: AbortSignal): Promise<Shown | null> {
    const bytes = await this.#files.bytesOf(file, bounds.inputFileBytes)
    const type = typeOfBytes(bytes)
    const size = type && imageSize(type, bytes)
    if (!size) return null
    const longer = Math.max(size.width, size.height)
    const isSmall = longer <= bounds.previewPixels && bytes.byteLength <= bounds.previewBytes
    if (isSmall && shownTypes.has(type)) return pictureOf(bytes, `image/${type}`)
    if (size.width * size.height > bounds.previewedPixels)
      return none('The image is too large to make a preview of it here.')
    return inFile('picture', bytes, path =>
      this.#shrunk(signal, readers[type], path, most => {
        const scale = Math.min(1, most / longer)
        const to = [size.width, size.height].map(side => Math.max(1, Math.round(side * scale)))
        // What is transparent has hidden colours of its own, which must not come out.
        return `color=c=white:s=${to.join('x')},format=rgb24[w];[in0]scale=${to.join(':')},format=rgba[p];[w][p]overlay=format=rgb:shortest=1,format=yuvj420p`
      }),
    )
  }

  /** The first frame. A film is read where it lies, as it may be large. */
  async #ofFilm(file: SavedFile, signal: AbortSignal): Promise<Shown | null> {
    const path = await this.#files.readablePath(file)
    return this.#shrunk(
      signal,
      file.mimeType === 'video/webm' ? 'matroska' : 'mov',
      path,
      most => `[in0]scale='min(${most},iw)':'min(${most},ih)':force_original_aspect_ratio=decrease,format=yuvj420p`,
    )
  }

  /** A JPEG; one that comes out too large is made again, coarser. Null where FFmpeg cannot read it. */
  #shrunk(
    signal: AbortSignal,
    reader: string,
    path: string,
    filterFor: (mostPixels: number) => string,
  ): Promise<Shown | null> {
    const work = this.#workers.turn(
      run =>
        inFolder('preview', async folder => {
          for (const [mostPixels, coarseness] of tries) {
            const shrunk = join(folder, 'preview.jpg')
            const graph = `${filterFor(mostPixels)},trim=end_frame=1`
            const options = jpegQuality(coarseness)
            await run('convert', {
              inputs: [{ path, reader, isStill: true }],
              tracks: [{ kind: 'video', reads: [0], graph, encoder: 'mjpeg', options }],
              to: { path: shrunk, format: 'mjpeg', mostBytes: Number.POSITIVE_INFINITY },
              // Here too, because the decoder finds another size than the header told where both were made to differ.
              maxPixels: bounds.previewedPixels,
            })
            const bytes = await readFile(shrunk)
            if (bytes.length <= bounds.previewBytes) return pictureOf(bytes, 'image/jpeg')
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

/** Pixels of the longer side, and how coarse (2 to 31). */
const tries = [
  [bounds.previewPixels, 5],
  [bounds.previewPixels, 15],
  [bounds.previewPixels / 2, 20],
] as const

const unreadable = 'The file could not be read as an image in time.'

const none = (why: string): Shown => ({ type: 'text', text: `The file is saved, but there is no preview: ${why}` })

const pictureOf = (bytes: Buffer, mimeType: string): Shown => ({
  type: 'image',
  data: bytes.toString('base64'),
  mimeType,
})
