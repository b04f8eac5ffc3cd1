import { Unreadable } from '../tasks.ts'
import { checkAdts, checkMp3, checkOgg, checkWav } from './whole-audio.ts'
import { checkFlac } from './whole-flac.ts'
import { checkMp4 } from './whole-mp4.ts'
import { checkWebm } from './whole-webm.ts'

/** What a file says of itself by its header, its tables or the heads of its frames, before anything is decoded. */
export interface Claims {
  /** Null where it does not say. */
  seconds: number | null
  /** Of one channel; null where it does not say. */
  samples: number | null
  /** Packets that a reader would walk through, of all tracks; 0 for formats that are not walked. */
  packets: number
}

type Length = Pick<Claims, 'seconds' | 'samples'>
const unsaid: Length = { seconds: null, samples: null }

const lengths = (check: (bytes: Buffer) => Length) => (bytes: Buffer) => ({ ...check(bytes), packets: 0 })
const seconds = (check: (bytes: Buffer) => number | null) =>
  lengths(bytes => ({ seconds: check(bytes), samples: null }))
const tables = (check: (bytes: Buffer) => number) => (bytes: Buffer) => ({ ...unsaid, packets: check(bytes) })

const checks = {
  ...{ mp4: tables(checkMp4), mov: tables(checkMp4), webm: tables(checkWebm) },
  ...{ wav: lengths(checkWav), flac: lengths(checkFlac), mp3: seconds(checkMp3), aac: seconds(checkAdts) },
  ogg: seconds(checkOgg),
}

export type CheckedFormat = keyof typeof checks

/**
 * By its structure, because decoders play what is there of a file without a word about the rest. Throws `Unreadable`, also
 * where the check itself fails: then the file is none that a writer of its format makes.
 */
export function checkWhole(bytes: Buffer, format: CheckedFormat): Claims {
  try {
    return checks[format](bytes)
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable(`its structure is broken: ${error}`)
  }
}
