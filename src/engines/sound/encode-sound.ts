import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SpeechFormat, speechFormats } from '#contract/operations/audio.ts'
import { soundEncoders } from '#host/encoders.ts'
import { inFolder } from '#host/in-folder.ts'
import type { Options } from '#host/media/conversion.ts'
import { speechBytes } from './bounds.ts'
import { soundFfmpeg } from './decode-sound.ts'
import { pcmOf, resampled, type Sound, wavOf } from './wav.ts'

/** What `pcm` is for every client of such services. */
export const pcmRate = 24_000

const settings: Record<keyof typeof soundEncoders, { format: string; options: Options }> = {
  mp3: { format: 'mp3', options: { b: '64k' } },
  opus: { format: 'ogg', options: { b: '32k' } },
  aac: { format: 'adts', options: { b: '64k' } },
  flac: { format: 'flac', options: {} },
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

/** Sound as a file. Throws `FfmpegMissing` where a format needs what is not installed. */
export async function encodeSound(given: Sound, format: SpeechFormat, signal: AbortSignal): Promise<Buffer> {
  const sound = resampled(given, pcmRate)
  if (format === 'pcm') return pcmOf(sound)
  if (format === 'wav') return wavOf(sound)
  const ffmpeg = soundFfmpeg()
  const encoder = soundEncoders[format]
  await ffmpeg.require([encoder])
  const { format: muxer, options } = settings[format]
  return inFolder('sound', async folder => {
    const [path, encoded] = [join(folder, 'sound'), join(folder, 'encoded')]
    await writeFile(path, wavOf(sound), { mode: 0o600 })
    const { bytes } = await ffmpeg.turn(
      run =>
        run('convert', {
          inputs: [{ path, reader: 'wav' }],
          tracks: [{ kind: 'audio', reads: [0], graph: '[in0]anull', encoder, options, rate: sound.rate, channels: 1 }],
          to: { path: encoded, format: muxer, mostBytes: speechBytes },
          maxPixels: 1,
        }),
      signal,
    )
    if (bytes === 0) throw new Error(`FFmpeg could not make ${format} of this sound.`)
    return readFile(encoded)
  })
}
