import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEncoder } from '../engines/demo/find-encoder.ts'
import { runEncoder } from '../engines/demo/run-encoder.ts'
import type { FaceMedium } from '../media/face-detector.ts'
import { FfmpegProbe } from '../video-media/media-probe.ts'
import { framePixels, framesMs, videoFrames } from './bounds.ts'

const probe = new FfmpegProbe()

/** Frames of a video as pictures, spread over its length, the first one too. Throws where they cannot be had. */
export async function* framesOf({ bytes, format }: FaceMedium): AsyncGenerator<Uint8Array> {
  const { signal } = new AbortController()
  const probed = format && (await probe.probe(bytes, format, signal))
  if (!probed) throw new Error('The video cannot be read.')
  const folder = await mkdtemp(join(tmpdir(), 'farebox-frames-'))
  try {
    const source = join(folder, 'source')
    await writeFile(source, bytes, { mode: 0o600 })
    const { path } = await findEncoder()
    await runEncoder(path, frameArguments(source, folder, probed.seconds, format === 'webm' ? 'matroska' : 'mov'), {
      signal,
      timeoutMs: framesMs,
    })
    const frames = (await readdir(folder)).filter(name => name.endsWith('.jpg')).sort()
    if (frames.length === 0) throw new Error('The video has no picture.')
    for (const frame of frames) yield await readFile(join(folder, frame))
  } finally {
    await rm(folder, { recursive: true, force: true })
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
