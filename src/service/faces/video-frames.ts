import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { frameEncoders } from '#programs/encoders.ts'
import { inFolder } from '#programs/in-folder.ts'
import { Ffmpeg, type FindFfmpeg } from '../ffmpeg/ffmpeg.ts'
import { succeeded } from '../ffmpeg/succeeded.ts'
import { FfmpegProbe, type MediaProbe } from '../video-media/media-probe.ts'
import { framePixels, framesMs, framingsAtOnce, framingsWaiting, videoFrames } from './bounds.ts'
import type { FaceMedium } from './face-detector.ts'

/** Takes the frames out of videos. */
export class VideoFrames {
  readonly #probe: MediaProbe
  readonly #ffmpeg: Ffmpeg

  constructor({ probe = new FfmpegProbe(), find }: { probe?: MediaProbe; find?: FindFfmpeg } = {}) {
    this.#probe = probe
    const bounds = { atOnce: framingsAtOnce, waiting: framingsWaiting, timeoutMs: framesMs }
    this.#ffmpeg = new Ffmpeg({ ...bounds, ...(find ? { find } : {}) })
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
          const args = frameArguments(source, folder, probed.seconds, format === 'webm' ? 'matroska' : 'mov')
          const end = await run({ args, signal, isPatient: true })
          if (!succeeded(end)) throw new Error(noPicture)
          return firstWanted(folder, isWanted, signal)
        }),
      signal,
      frameEncoders,
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
function frameArguments(source: string, folder: string, seconds: number, reader: 'mov' | 'matroska'): string[] {
  const each = Math.max(0.5, seconds / videoFrames)
  const shrink = `scale='min(${framePixels},iw)':'min(${framePixels},ih)':force_original_aspect_ratio=decrease`
  return [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'],
    ...['-protocol_whitelist', 'file', '-f', reader, '-i', `file:${source}`],
    ...['-map', '0:v:0', '-vf', `fps=1/${each.toFixed(3)}:round=up:start_time=0,${shrink}`],
    ...['-frames:v', `${videoFrames + 1}`, '-q:v', '3', '-f', 'image2', join(folder, 'frame-%03d.jpg')],
  ]
}
