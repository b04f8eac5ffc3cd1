import type { Recording, SoundType } from '../engines/audio-engines.ts'

const at = (bytes: Buffer, start: number, text: string): boolean =>
  bytes.subarray(start, start + text.length).toString('latin1') === text

/** What a file is by its first bytes; null where it is no sound that anybody here reads. */
export function soundTypeOf(bytes: Buffer): SoundType | null {
  if (at(bytes, 0, 'RIFF') && at(bytes, 8, 'WAVE')) return 'wav'
  if (at(bytes, 0, 'fLaC')) return 'flac'
  if (at(bytes, 0, 'OggS')) return 'ogg'
  if (at(bytes, 4, 'ftyp')) return 'mp4'
  if (at(bytes, 0, '\x1a\x45\xdf\xa3')) return 'webm'
  if (at(bytes, 0, 'ID3')) return 'mp3'
  const [first = 0, second = 0] = bytes
  if (first !== 0xff) return null
  // A frame's sync word; of AAC the two bits of its layer are zero.
  if ((second & 0xf6) === 0xf0) return 'aac'
  return (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 ? 'mp3' : null
}

/** The bytes of an upload with what they are; null where that is no sound. */
export async function recordingOf(file: File): Promise<Recording | null> {
  const bytes = Buffer.from(await file.arrayBuffer())
  const type = soundTypeOf(bytes)
  return type === null ? null : { bytes, type }
}

export const soundTypeNames = 'WAV, MP3, FLAC, OGG, M4A, WebM, AAC'
