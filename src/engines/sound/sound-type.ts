import { type SniffedType, sniffType } from '#contract/wire/media-type.ts'

/** A file with sound, as its first bytes say. */
export interface Recording {
  bytes: Buffer
  type: SoundType
}

export type SoundType = 'wav' | 'mp3' | 'flac' | 'ogg' | 'mp4' | 'webm' | 'aac'

/** What is heard of each type; a video may be a recording too. */
const soundTypes: Partial<Record<SniffedType, SoundType>> = {
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
  'audio/mp4': 'mp4',
  'video/mp4': 'mp4',
  'video/quicktime': 'mp4',
  'video/webm': 'webm',
  'audio/mpeg': 'mp3',
  'audio/aac': 'aac',
}

/** What a file is by its first bytes; null where it is no sound that anybody here reads. */
export function soundTypeOf(bytes: Buffer): SoundType | null {
  const type = sniffType(bytes)
  return (type && soundTypes[type]) ?? null
}

/** The bytes of an upload with what they are; null where that is no sound. */
export async function recordingOf(file: File): Promise<Recording | null> {
  const bytes = Buffer.from(await file.arrayBuffer())
  const type = soundTypeOf(bytes)
  return type === null ? null : { bytes, type }
}

export const soundTypeNames = 'WAV, MP3, FLAC, OGG, M4A, WebM, AAC'
