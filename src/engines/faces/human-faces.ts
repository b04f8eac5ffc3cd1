import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder } from '#host/files.ts'
import { type Conversion, jpegQuality } from '#host/media/tasks.ts'
import { TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { Ffmpeg, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { imagePixels } from '../images/image-file.ts'
import type { FaceDetector, FaceMedia } from '../ports/media-engines.ts'
import { type MediaProbe, PacketProbe } from '../video-media/video-media.ts'
import type { FaceAnswer } from './face-thread.ts'

/** Longer side of a video's frames. */
const framePixels = 960

/** Frames taken from one video, spread over its length. */
const videoFrames = 40

/** Timeout of one image: the model's five passes take half a second on a busy core, plus loading it the first time. */
const lookMs = 30_000

/** Images that may wait. A request has at most 40; beyond the limit, an image counts as one with a face. */
const looksWaiting = 400

/** Memory of the thread, in addition to what the model keeps outside it. */
const threadHeapMb = 512

/** Timeout of extracting a video's frames, without its audio. */
const framesMs = 60_000

/** Size of all frames of one video; each is some 200 kB. */
const framesBytes = 64 * 1024 * 1024

/** Videos whose frames are extracted concurrently, and how many may wait; further ones count as having a face. */
export const framingsAtOnce = 2
export const framingsWaiting = 100

export interface HumanFacesOptions {
  /** Why a media file could not be checked, for a log. It counted as one with a face. */
  onProblem?: (problem: unknown) => void
}

/**
 * Detects faces with `@vladmandic/human` and `sharp` on its own thread. Any media file that cannot be checked, for
 * example because a package is missing, counts as one with a face.
 */
export class HumanFaces implements FaceDetector {
  readonly #thread: TaskThread<Uint8Array, FaceAnswer>
  readonly #frames = new VideoFrames()
  readonly #closing = new AbortController()
  readonly #onProblem: (problem: unknown) => void

  constructor({ onProblem = () => undefined }: HumanFacesOptions = {}) {
    const url = threadUrl('face-thread', import.meta.url)
    const bounds = { timeoutMs: lookMs, waiting: looksWaiting, heapMb: threadHeapMb }
    this.#thread = new TaskThread({ name: 'faces', url, ...bounds })
    this.#onProblem = onProblem
  }

  async hasFace(media: FaceMedia, signal?: AbortSignal): Promise<boolean> {
    const over = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    const shows = (image: Uint8Array) => this.#shows(image, over)
    try {
      return await (media.kind === 'image' ? shows(media.bytes) : this.#frames.some(media, shows, over))
    } catch (error) {
      signal?.throwIfAborted()
      this.#onProblem(error)
      return true
    }
  }

  close(): Promise<void> {
    this.#closing.abort()
    return this.#thread.close()
  }

  async #shows(image: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#thread.run(image, signal)
    if ('problem' in answer) throw new Error(answer.problem)
    return answer.hasFace
  }
}

/** Extracts frames from videos. */
export class VideoFrames {
  readonly #probe: MediaProbe
  readonly #ffmpeg: Ffmpeg

  /** `program` replaces the file that the media process runs; for tests. */
  constructor({ probe = new PacketProbe(), program }: { probe?: MediaProbe; program?: string } = {}) {
    this.#probe = probe
    const bounds = { atOnce: framingsAtOnce, waiting: framingsWaiting, timeoutMs: framesMs }
    this.#ffmpeg = new Ffmpeg({ ...bounds, isPatient: true, ...(program ? { program } : {}) })
  }

  /**
   * Whether `isWanted` accepts one of the frames, which are images spread over the video's length, including the first.
   * Throws if they cannot be extracted.
   */
  async some(
    { bytes, format }: FaceMedia,
    isWanted: (image: Uint8Array) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const probed = format && (await this.#probe.probe(bytes, format, signal))
    if (!probed || 'refused' in probed) throw new Error('The video cannot be read.')
    // The frames are checked within the same turn, so that the number of videos on disk stays limited.
    return this.#ffmpeg.turn(
      run =>
        inFolder('frames', async folder => {
          const source = join(folder, 'source')
          await writeFile(source, bytes, { mode: 0o600 })
          const work = framing(source, folder, probed.seconds, format === 'webm' ? 'matroska' : 'mov')
          await run('convert', work).catch(error => {
            throw isUnreadable(error) ? new Error(noImage, { cause: error }) : error
          })
          return firstWanted(folder, isWanted, signal)
        }),
      signal,
    )
  }
}

async function firstWanted(
  folder: string,
  isWanted: (image: Uint8Array) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  const frames = (await readdir(folder)).filter(name => name.endsWith('.jpg')).sort()
  if (frames.length === 0) throw new Error(noImage)
  for (const frame of frames) {
    signal.throwIfAborted()
    if (await isWanted(await readFile(join(folder, frame)))) return true
  }
  return false
}

const noImage = 'The video has no readable frame.'

/** Two frames per second of a short clip, fewer of a longer one. */
function framing(path: string, folder: string, seconds: number, reader: 'mov' | 'matroska'): Conversion {
  const each = Math.max(0.5, seconds / videoFrames)
  const shrink = `scale='min(${framePixels},iw)':'min(${framePixels},ih)':force_original_aspect_ratio=decrease`
  const spread = `fps=1/${each.toFixed(3)}:round=up:start_time=0,trim=end_frame=${videoFrames + 1}`
  return {
    inputs: [{ path, reader }],
    tracks: [
      {
        ...{ kind: 'video', reads: [0], graph: `[in0]${spread},${shrink},format=yuvj420p` },
        ...{ encoder: 'mjpeg', options: jpegQuality(3) },
      },
    ],
    to: { path: join(folder, 'frame-%03d.jpg'), format: 'image2', mostBytes: framesBytes },
    maxPixels: imagePixels,
  }
}
