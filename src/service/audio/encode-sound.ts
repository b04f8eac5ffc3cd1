import { type SpeechFormat, speechFormats } from '#contract/speech.ts'
import { succeeded } from '../ffmpeg/succeeded.ts'
import { speechBytes } from './bounds.ts'
import { soundFfmpeg } from './sound-ffmpeg.ts'
import { pcmOf, resampled, type Sound, wavOf } from './wav.ts'

/** What `pcm` is for every client of such services. */
export const pcmRate = 24_000

const encoders: Record<Exclude<SpeechFormat, 'wav' | 'pcm'>, readonly string[]> = {
  mp3: ['-c:a', 'libmp3lame', '-b:a', '64k', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-b:a', '32k', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-b:a', '64k', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-f', 'flac'],
}

/** All formats where there is ffmpeg, else those that need nothing. */
export const soundFormats = async (): Promise<readonly SpeechFormat[]> =>
  (await soundFfmpeg().isInstalled()) ? speechFormats : ['wav', 'pcm']

/** Sound as a file. Throws where ffmpeg is missing for a format that needs it. */
export async function encodeSound(given: Sound, format: SpeechFormat, signal: AbortSignal): Promise<Buffer> {
  const sound = resampled(given, pcmRate)
  if (format === 'pcm') return pcmOf(sound)
  if (format === 'wav') return wavOf(sound)
  const ffmpeg = soundFfmpeg()
  if (!(await ffmpeg.isInstalled())) throw new Error(`Sound as ${format} needs ffmpeg on PATH.`)
  const pieces: Buffer[] = []
  const raw = ['-f', 's16le', '-ar', `${sound.rate}`, '-ac', '1', '-i', 'pipe:0']
  const end = await ffmpeg.turn(run =>
    run({
      args: [
        ...['-hide_banner', '-loglevel', 'error', ...raw, '-map_metadata', '-1'],
        ...[...encoders[format], '-fs', `${speechBytes}`, 'pipe:1'],
      ],
      input: pcmOf(sound),
      onOutput: piece => pieces.push(piece),
      // What it is told to end at is met a frame later.
      outputBytes: 2 * speechBytes,
      signal,
    }),
  )
  if (!succeeded(end) || pieces.length === 0) throw new Error(`ffmpeg could not make ${format} of this sound.`)
  return Buffer.concat(pieces)
}
