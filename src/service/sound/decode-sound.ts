import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder } from '#programs/in-folder.ts'
import type { Conversion } from '#programs/media/conversion.ts'
import { Ffmpeg, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { soundMs, soundsAtOnce, soundsWaiting } from './bounds.ts'
import type { Recording, SoundType } from './sound-type.ts'

let opened: Ffmpeg | null = null

/** FFmpeg for sound: one line for the whole process, because its processors are one. */
export function soundFfmpeg(): Ffmpeg {
  opened ??= new Ffmpeg({ atOnce: soundsAtOnce, waiting: soundsWaiting, timeoutMs: soundMs })
  return opened
}

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
export const soundReaders: Record<SoundType, string> = {
  wav: 'wav',
  mp3: 'mp3',
  flac: 'flac',
  ogg: 'ogg',
  mp4: 'mov',
  webm: 'matroska',
  aac: 'aac',
}

export interface Decoding {
  /** Samples a second. */
  rate: number
  /** Nothing beyond is decoded: a small file may have any length. */
  atMostSeconds: number
  /** Whether the samples are wanted, or only their number. */
  isCounted?: boolean
  signal: AbortSignal
}

export interface DecodedSound {
  samples: number
  /** 16 bits, little-endian, one channel; empty where they were only counted. */
  pcm: Buffer
}

/**
 * The sound of a recording as samples of 16 bits and one channel, by FFmpeg; `unknown` where there is none. Throws
 * `modelOverloaded` where too many wait, and `requestTimeout` where it takes too long.
 */
export async function decodeSound(
  recording: Recording,
  { rate, atMostSeconds, isCounted = false, signal }: Decoding,
): Promise<DecodedSound | 'broken' | 'unknown'> {
  const ffmpeg = soundFfmpeg()
  if (!(await ffmpeg.isInstalled())) return 'unknown'
  const work = inFolder('sound', async folder => {
    const [path, decoded] = [join(folder, 'sound'), join(folder, 'decoded')]
    await writeFile(path, recording.bytes, { mode: 0o600 })
    const conversion: Conversion = {
      inputs: [{ path, reader: soundReaders[recording.type] }],
      tracks: [
        {
          ...{ kind: 'audio', reads: [0], graph: `[in0]atrim=end=${atMostSeconds}`, encoder: 'pcm_s16le' },
          ...{ rate, channels: 1 },
        },
      ],
      to: { path: decoded, format: isCounted ? 'null' : 's16le', mostBytes: Number.POSITIVE_INFINITY },
      maxPixels: 1,
    }
    const { samples } = await ffmpeg.turn(run => run('convert', conversion), signal)
    return { samples, pcm: isCounted ? Buffer.alloc(0) : await readFile(decoded) }
  })
  return work.catch(error => {
    if (isUnreadable(error)) return 'broken' as const
    throw error
  })
}
