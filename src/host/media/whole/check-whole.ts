import { checkFlac } from './whole-flac.ts'
import { checkMp4 } from './whole-mp4.ts'
import { checkAdts, checkMp3, checkOgg, checkWav } from './whole-sound.ts'
import { checkWebm } from './whole-webm.ts'

const checks = {
  ...{ mp4: checkMp4, mov: checkMp4, webm: checkWebm },
  ...{ wav: checkWav, mp3: checkMp3, flac: checkFlac, ogg: checkOgg, aac: checkAdts },
}

export type CheckedFormat = keyof typeof checks

/** By its structure, because decoders play what is there of a file without a word about the rest. Throws `Unreadable`. */
export function checkWhole(bytes: Buffer, format: CheckedFormat): void {
  checks[format](bytes)
}
