import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder } from '#host/in-folder.ts'
import { type Conversion, jpegQuality } from '#host/media/conversion.ts'
import { Ffmpeg, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { imagePixels } from '../images/image-file.ts'
import { type MediaProbe, PacketProbe } from '../video-media/media-probe.ts'
import { framePixels, framesBytes, framesMs, framingsAtOnce, framingsWaiting, videoFrames } from './bounds.ts'
import type { FaceMedium } from './face-detector.ts'

/** Takes the frames out of videos. */
export class VideoFrames {
  readonly #probe: MediaProbe
  readonly #ffmpeg: Ffmpeg

  /** `program` is in place of the file that the media process runs; a test owns it. */
  constructor({ probe = new PacketProbe(), program }: { probe?: MediaProbe; program?: string } = {}) {
    this.#probe = probe
    const bounds = { atOnce: framingsAtOnce, waiting: framingsWaiting, timeoutMs: framesMs }
    this.#ffmpeg = new Ffmpeg({ ...bounds, isPatient: true, ...(program ? { program } : {}) })
  }

  /**
   * Whether `isWanted` wants one of the frames, which are pictures, spread over the video's length, the first one too.
   * Throws where they cannot be had.
   */
  async some(
    { bytes, format }: FaceMedium,
    isWanted: (picture: Uint8Array) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const probed = format && (await this.#probe.probe(bytes, format, signal))
    if (!probed) throw new Error('The video cannot be read.')
    // The frames are looked at within the turn too, so that no more videos than these lie on the disk.
    return this.#ffmpeg.turn(
      run =>
        inFolder('frames', async folder => {
          const source = join(folder, 'source')
          await writeFile(source, bytes, { mode: 0o600 })
          const work = framing(source, folder, probed.seconds, format === 'webm' ? 'matroska' : 'mov')
          await run('convert', work).catch(error => {
            throw isUnreadable(error) ? new Error(noPicture, { cause: error }) : error
          })
          return firstWanted(folder, isWanted, signal)
        }),
      signal,
    )
  }
}

async function firstWanted(
  folder: string,
  isWanted: (picture: Uint8Array) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  const frames = (await readdir(folder)).filter(name => name.endsWith('.jpg')).sort()
  if (frames.length === 0) throw new Error(noPicture)
  for (const frame of frames) {
    signal.throwIfAborted()
    if (await isWanted(await readFile(join(folder, frame)))) return true
  }
  return false
}

const noPicture = 'The video has no picture that can be read.'

/** Two a second of a short clip, and fewer of a longer one. */
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
