import { type SpeechFormat, speechFormats } from '#contract/speech.ts'
import { soundEncoders } from '#programs/encoders.ts'
import { succeeded } from '../ffmpeg/succeeded.ts'
import { speechBytes } from './bounds.ts'
import { soundFfmpeg } from './sound-ffmpeg.ts'
import { pcmOf, resampled, type Sound, wavOf } from './wav.ts'

/** What `pcm` is for every client of such services. */
export const pcmRate = 24_000

const settings: Record<keyof typeof soundEncoders, readonly string[]> = {
  mp3: ['-b:a', '64k', '-f', 'mp3'],
  opus: ['-b:a', '32k', '-f', 'ogg'],
  aac: ['-b:a', '64k', '-f', 'adts'],
  flac: ['-f', 'flac'],
}

/** Those that need nothing, and those whose encoder is in `ffmpeg`. */
export async function soundFormats(ffmpeg = soundFfmpeg()): Promise<readonly SpeechFormat[]> {
  const isThere = await Promise.all(
    speechFormats.map(
      async format => format === 'wav' || format === 'pcm' || ffmpeg.isInstalled([soundEncoders[format]]),
    ),
  )
  return speechFormats.filter((_, index) => isThere[index])
}

/** Sound as a file. Throws where ffmpeg, or its encoder, is missing for a format that needs it. */
export async function encodeSound(given: Sound, format: SpeechFormat, signal: AbortSignal): Promise<Buffer> {
  const sound = resampled(given, pcmRate)
  if (format === 'pcm') return pcmOf(sound)
  if (format === 'wav') return wavOf(sound)
  const ffmpeg = soundFfmpeg()
  const encoder = soundEncoders[format]
  if (!(await ffmpeg.isInstalled([encoder])))
    throw new Error(`Sound as ${format} needs ffmpeg with ${encoder} on PATH.`)
  const pieces: Buffer[] = []
  const raw = ['-f', 's16le', '-ar', `${sound.rate}`, '-ac', '1', '-i', 'pipe:0']
  const end = await ffmpeg.turn(
    run =>
      run({
        args: [
          ...['-hide_banner', '-loglevel', 'error', ...raw, '-map_metadata', '-1', '-c:a', encoder],
          ...[...settings[format], '-fs', `${speechBytes}`, 'pipe:1'],
        ],
        input: pcmOf(sound),
        onOutput: piece => pieces.push(piece),
        // What it is told to end at is met a frame later.
        outputBytes: 2 * speechBytes,
        signal,
      }),
    signal,
    [encoder],
  )
  if (!succeeded(end) || pieces.length === 0) throw new Error(`ffmpeg could not make ${format} of this sound.`)
  return Buffer.concat(pieces)
}
