import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { succeeded } from '../ffmpeg/succeeded.ts'
import type { FaceMedium } from '../media/face-detector.ts'
import { inFolder } from '../programs/in-folder.ts'
import { FfmpegProbe } from '../video-media/media-probe.ts'
import { framePixels, framesMs, framingsAtOnce, framingsWaiting, videoFrames } from './bounds.ts'

/** Takes the frames out of videos. */
export class VideoFrames {
  readonly #probe = new FfmpegProbe()
  readonly #ffmpeg = new Ffmpeg({ atOnce: framingsAtOnce, waiting: framingsWaiting, timeoutMs: framesMs })

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
    return inFolder('frames', async folder => {
      const source = join(folder, 'source')
      await writeFile(source, bytes, { mode: 0o600 })
      const args = frameArguments(source, folder, probed.seconds, format === 'webm' ? 'matroska' : 'mov')
      const end = await this.#ffmpeg.turn(run => run({ args, signal, isPatient: true }))
      const frames = (await readdir(folder)).filter(name => name.endsWith('.jpg')).sort()
      if (!succeeded(end) || frames.length === 0) throw new Error('The video has no picture that can be read.')
      for (const frame of frames) {
        if (await isWanted(await readFile(join(folder, frame)))) return true
      }
      return false
    })
  }
}

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
