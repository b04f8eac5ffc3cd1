import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder } from '#host/in-folder.ts'
import type { AudioTrack, Conversion, Options } from '#host/media/conversion.ts'
import type { Claims } from '#host/media/whole/check-whole.ts'
import { Ffmpeg, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { decodedBytes, decodedSamples, soundMs, soundsAtOnce, soundsWaiting } from './bounds.ts'
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
  /** Nothing beyond is decoded: a small file may have any length. One whose header says more is not decoded at all. */
  atMostSeconds: number
  /** Whether a longer file is decoded up to there all the same. */
  isCut?: boolean
  to: keyof typeof outputs
  options?: Options
  signal: AbortSignal
}

interface DecodedSound {
  /** Of one channel. */
  samples: number
  /** Empty where they were only counted, and where the file is longer than it may be by its own words. */
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
  const { to, signal, isCut, atMostSeconds } = decoding
  try {
    // The file lies on the disk once it has its turn.
    const work = ffmpeg.turn(
      run =>
        inFolder('sound', async folder => {
          const [path, decoded] = [join(folder, 'sound'), join(folder, 'decoded')]
          await writeFile(path, recording.bytes, { mode: 0o600 })
          const claims = await run('whole', { path, format: recording.type })
          const longer = isCut ? null : longerThanTaken(claims, decoding)
          if (longer) return longer
          if ((claims.samples ?? 0) > decodedSamples(atMostSeconds) && !isCut) return 'broken'
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

/** Null for what may be decoded. */
function longerThanTaken({ seconds }: Claims, { atMostSeconds, rate }: Decoding): DecodedSound | null {
  if (seconds === null || seconds <= atMostSeconds) return null
  return { samples: Math.ceil(seconds * rate), bytes: Buffer.alloc(0) }
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
    maxSamples: decodedSamples(atMostSeconds),
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
          await run('whole', { path, format: type })
        }),
      signal,
    )
    return true
  } catch (error) {
    if (isUnreadable(error)) return false
    throw error
  }
}
