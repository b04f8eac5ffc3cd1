import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder } from '#host/in-folder.ts'
import type { AudioTrack, Conversion, Options } from '#host/media/conversion.ts'
import { Ffmpeg, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { decodedBytes, soundMs, soundsAtOnce, soundsWaiting } from './bounds.ts'
import type { Recording, SoundType } from './sound-type.ts'

let opened: Ffmpeg | null = null

/** FFmpeg for sound: one line for the whole process, because its processors are one. */
export function soundFfmpeg(): Ffmpeg {
  opened ??= new Ffmpeg({ atOnce: soundsAtOnce, waiting: soundsWaiting, timeoutMs: soundMs })
  return opened
}

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
const soundReaders: Record<SoundType, string> = {
  wav: 'wav',
  mp3: 'mp3',
  flac: 'flac',
  ogg: 'ogg',
  mp4: 'mov',
  webm: 'matroska',
  aac: 'aac',
}

/** What comes out: samples of 16 bits as they are or as a WAV, their number alone, or an MP3. */
const outputs = {
  pcm: { format: 's16le', encoder: 'pcm_s16le' },
  wav: { format: 'wav', encoder: 'pcm_s16le' },
  count: { format: 'null', encoder: 'pcm_s16le' },
  mp3: { format: 'mp3', encoder: 'libmp3lame' },
} as const

export interface Decoding {
  /** Samples a second. */
  rate: number
  channels?: AudioTrack['channels']
  /** Nothing beyond is decoded: a small file may have any length. */
  atMostSeconds: number
  to: keyof typeof outputs
  options?: Options
  signal: AbortSignal
}

interface DecodedSound {
  /** Of one channel. */
  samples: number
  /** Empty where they were only counted. */
  bytes: Buffer
}

/**
 * The first track of a recording that is whole, decoded by FFmpeg; `unknown` where there is none. Throws `modelOverloaded`
 * where too many wait, and `requestTimeout` where it takes too long.
 */
export async function decodeSound(
  recording: Recording,
  decoding: Decoding,
): Promise<DecodedSound | 'broken' | 'unknown'> {
  const ffmpeg = soundFfmpeg()
  if (!(await ffmpeg.isInstalled())) return 'unknown'
  const { to, signal } = decoding
  try {
    // The file lies on the disk once it has its turn.
    const work = ffmpeg.turn(
      run =>
        inFolder('sound', async folder => {
          const [path, decoded] = [join(folder, 'sound'), join(folder, 'decoded')]
          await writeFile(path, recording.bytes, { mode: 0o600 })
          await run('whole', { path, format: recording.type })
          const { samples } = await run('convert', conversionOf(path, decoded, recording.type, decoding))
          return { samples, bytes: to === 'count' ? Buffer.alloc(0) : await readFile(decoded) }
        }),
      signal,
    )
    return await work
  } catch (error) {
    if (isUnreadable(error)) return 'broken'
    throw error
  }
}

function conversionOf(path: string, decoded: string, type: SoundType, decoding: Decoding): Conversion {
  const { rate, channels = 1, atMostSeconds, to, options = {} } = decoding
  const { format, encoder } = outputs[to]
  const mostBytes = to === 'count' ? Number.POSITIVE_INFINITY : decodedBytes
  return {
    inputs: [{ path, reader: soundReaders[type] }],
    tracks: [
      { ...{ kind: 'audio', reads: [0], graph: `[in0]atrim=end=${atMostSeconds}` }, encoder, options, rate, channels },
    ],
    to: { path: decoded, format, mostBytes },
    maxPixels: 1,
  }
}

/** Whether a file has the end that its type has; FFmpeg is not needed for it. Throws as `decodeSound` does. */
export async function isWhole({ bytes, type }: Recording, signal: AbortSignal): Promise<boolean> {
  try {
    await soundFfmpeg().turn(
      run =>
        inFolder('sound', async folder => {
          const path = join(folder, 'sound')
          await writeFile(path, bytes, { mode: 0o600 })
          return run('whole', { path, format: type })
        }),
      signal,
    )
    return true
  } catch (error) {
    if (isUnreadable(error)) return false
    throw error
  }
}
