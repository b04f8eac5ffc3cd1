import { type SniffedType, sniffType } from '#contract/wire/media-type.ts'

/** An audio file, or a video with audio, with its type detected from its first bytes. */
export interface Recording {
  bytes: Buffer
  type: AudioType
}

export type AudioType = 'wav' | 'mp3' | 'flac' | 'ogg' | 'mp4' | 'webm' | 'aac'

/** The audio format to read from each type; a video may be a recording too. */
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

/** Returns the audio format of a file by its first bytes; null if its audio cannot be read here. */
export function audioTypeOf(bytes: Buffer): AudioType | null {
  const type = sniffType(bytes)
  return (type && audioTypes[type]) ?? null
}

/** Returns the bytes of an upload with their type; null if it is not an audio type. */
export async function recordingOf(file: File): Promise<Recording | null> {
  const bytes = Buffer.from(await file.arrayBuffer())
  const type = audioTypeOf(bytes)
  return type === null ? null : { bytes, type }
}

export const audioTypeNames = 'WAV, MP3, FLAC, OGG, M4A, WebM, AAC'

/** Largest speech answer: 4,096 characters at the slowest speed are about 20 minutes, in WAV below 60 MB. */
export const speechBytes = 96 * 1024 * 1024

/** How long FFmpeg may take for one audio file. */
export const audioTaskMs = 60_000

/** Largest decoded file: two hours of 16-bit samples at 16,000 per second. */
export const decodedBytes = 256 * 1024 * 1024

/** Largest recording for an engine: transcription servers accept at least 25 MB. */
export const longRecordingBytes = 24 * 1024 * 1024

/** Concurrent FFmpeg audio tasks, and how many may wait; callers beyond that are told to retry. */
export const audioTasksAtOnce = 2
export const audioTasksWaiting = 200

/** Sample rate for measuring length: enough to count, and little data. */
export const probeRate = 8_000

/** Sample rate of recordings for engines: speech loses nothing. */
export const spokenRate = 16_000

/** Sample rate of voice samples, and of a video's music. */
export const musicRate = 48_000

/** A longer voice sample is cut. */
export const voiceSampleSeconds = 300

/** The highest sample rate in use; a header that claims more is not trusted. */
const highestRate = 768_000

/** The longest recording that a model may be configured to accept: a day. Decoding stops there. */
export const longestRecordingSeconds = 86_400

/**
 * Returns how many samples per channel are decoded: all of them at 48,000 per second, which covers every long recording
 * that fits an upload, or ten minutes at 192,000.
 */
export const decodedSamples = (seconds: number): number => Math.max(seconds * 48_000, 600 * 192_000)

/** Audio samples: 16-bit, little-endian, mono. */
export interface PcmAudio {
  samples: Int16Array
  /** Samples per second. */
  rate: number
}

const headerBytes = 44

/** Returns the 44 bytes before the samples; without a length, as for a stream, they state the maximum. */
export function wavHeader(rate: number, sampleBytes: number = 0xffff_ffff - headerBytes): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(sampleBytes + headerBytes - 8, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  // PCM, one channel.
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(sampleBytes, 40)
  return header
}

export const pcmOf = ({ samples }: PcmAudio): Buffer =>
  Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)

export function wavOf(audio: PcmAudio): Buffer {
  const pcm = pcmOf(audio)
  return Buffer.concat([wavHeader(audio.rate, pcm.byteLength), pcm])
}

interface PlainWav {
  /** Samples per second. */
  rate: number
  channels: number
  bits: number
  /** Floating-point samples instead of integers. */
  isFloat: boolean
  data: Buffer
}

/**
 * Returns the length of a plain WAV in seconds, as far as the file reaches; null for any other, which must be decoded.
 */
export function wavSeconds(bytes: Buffer): number | null {
  const plain = plainWav(bytes)
  return plain && plain.data.length / ((plain.rate * plain.channels * plain.bits) / 8)
}

/** Returns the samples of a 16-bit mono WAV; null for any other. */
export function audioOfWav(bytes: Buffer): PcmAudio | null {
  const plain = plainWav(bytes)
  if (!plain || plain.isFloat || plain.bits !== 16 || plain.channels !== 1) return null
  const { rate, data } = plain
  const count = Math.floor(data.length / 2)
  return { samples: Int16Array.from({ length: count }, (_, index) => data.readInt16LE(index * 2)), rate }
}

/** Converts a plain WAV to 16-bit mono by averaging its channels; null for any other. */
export function plainAudio(bytes: Buffer): PcmAudio | null {
  const plain = plainWav(bytes)
  if (!plain) return null
  const { rate, channels, bits, isFloat, data } = plain
  const sampleBytes = bits / 8
  const read = (at: number): number => {
    if (isFloat) return Math.max(-1, Math.min(1, data.readFloatLE(at))) * 32_767
    if (bits === 8) return (data.readUInt8(at) - 128) * 256
    return data.readIntLE(at, sampleBytes) / 2 ** (bits - 16)
  }
  const samples = new Int16Array(Math.floor(data.length / (sampleBytes * channels)))
  for (let index = 0; index < samples.length; index++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += read((index * channels + channel) * sampleBytes)
    samples[index] = Math.round(sum / channels)
  }
  return { samples, rate }
}

const formatAt = 12
const integers = 1
const floats = 3

/**
 * Parses a WAV that every reader interprets alike: the format first, one block of samples, and no contradictions in the
 * header. Null for any other.
 */
function plainWav(bytes: Buffer): PlainWav | null {
  if (bytes.length < headerBytes || nameAt(bytes, formatAt) !== 'fmt ') return null
  const tag = bytes.readUInt16LE(20)
  const channels = bytes.readUInt16LE(22)
  const rate = bytes.readUInt32LE(24)
  const bits = bytes.readUInt16LE(34)
  const isKnown = tag === integers ? [8, 16, 24, 32].includes(bits) : tag === floats && bits === 32
  const frameBytes = (channels * bits) / 8
  if (!isKnown || channels === 0 || rate === 0 || rate > highestRate) return null
  if (bytes.readUInt16LE(32) !== frameBytes || bytes.readUInt32LE(28) !== rate * frameBytes) return null
  const data = onlyData(bytes)
  return data && { rate, channels, bits, isFloat: tag === floats, data }
}

/** Readers disagree about repeated chunks: some read them, others skip them. */
function onlyData(bytes: Buffer): Buffer | null {
  for (let at = formatAt; at + 8 <= bytes.length; ) {
    const name = nameAt(bytes, at)
    const size = bytes.readUInt32LE(at + 4)
    const start = at + 8
    if (name === 'data') {
      return bytes.indexOf('data', start + size, 'latin1') < 0 ? bytes.subarray(start, start + size) : null
    }
    if (name === 'fmt ' && (at !== formatAt || size < 16)) return null
    at = start + size + (size % 2)
  }
  return null
}

const nameAt = (bytes: Buffer, at: number): string => bytes.subarray(at, at + 4).toString('latin1')

/** Converts audio to another sample rate by linear interpolation. */
export function resampled({ samples, rate }: PcmAudio, wanted: number): PcmAudio {
  if (rate === wanted) return { samples, rate }
  const count = Math.floor((samples.length * wanted) / rate)
  const result = new Int16Array(count)
  for (let index = 0; index < count; index++) {
    const place = (index * rate) / wanted
    const before = Math.floor(place)
    const low = samples[before] ?? 0
    const high = samples[before + 1] ?? low
    result[index] = Math.round(low + (high - low) * (place - before))
  }
  return { samples: result, rate: wanted }
}
