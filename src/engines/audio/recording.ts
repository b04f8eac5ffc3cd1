import { type SniffedType, sniffType } from '#contract/wire/media-type.ts'

/** An audio file, or a video with audio, and its type by its first bytes. */
export interface Recording {
  bytes: Buffer
  type: AudioType
}

export type AudioType = 'wav' | 'mp3' | 'flac' | 'ogg' | 'mp4' | 'webm' | 'aac'

/** What is heard of each type; a video may be a recording too. */
const audioTypes: Partial<Record<SniffedType, AudioType>> = {
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

/** What a file is by its first bytes; null where its audio cannot be read here. */
export function audioTypeOf(bytes: Buffer): AudioType | null {
  const type = sniffType(bytes)
  return (type && audioTypes[type]) ?? null
}

/** The bytes of an upload with what they are; null where it has no audio type. */
export async function recordingOf(file: File): Promise<Recording | null> {
  const bytes = Buffer.from(await file.arrayBuffer())
  const type = audioTypeOf(bytes)
  return type === null ? null : { bytes, type }
}

export const audioTypeNames = 'WAV, MP3, FLAC, OGG, M4A, WebM, AAC'

/** One spoken answer: 4,096 characters at the slowest are some 20 minutes, in WAV below 60 MB. */
export const speechBytes = 96 * 1024 * 1024

/** How long FFmpeg may take for one audio file. */
export const audioTaskMs = 60_000

/** A decoded file: two hours at 16,000 samples a second, of 16 bits. */
export const decodedBytes = 256 * 1024 * 1024

/** A recording that engines get: the least that servers of transcriptions take is 25 MB. */
export const longRecordingBytes = 24 * 1024 * 1024

/** Audio tasks of FFmpeg at once, and those that wait; callers beyond them are told to retry. */
export const audioTasksAtOnce = 2
export const audioTasksWaiting = 200

/** Audio is decoded at this rate to measure its length: enough to count, and little to move. */
export const probeRate = 8_000

/** What engines hear recordings at: speech loses nothing. */
export const spokenRate = 16_000

/** What a sample of a voice, and the music of a video, are at. */
export const musicRate = 48_000

/** A sample of a voice that is longer is cut. */
export const voiceSampleSeconds = 300

/** Samples a second of the finest audio in use; a header that claims more is not believed. */
export const highestRate = 768_000

/** The longest recording that a model may be set to take, a day. Decoding ends there. */
export const longestRecordingSeconds = 86_400

/**
 * Samples of one channel that are decoded of a file: all of them at 48,000 a second, as every long recording that fits an
 * upload has, or ten minutes at 192,000.
 */
export const decodedSamples = (seconds: number): number => Math.max(seconds * 48_000, 600 * 192_000)
