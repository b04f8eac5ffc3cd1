import { leastSpeechBitsPerSecond, mostSamplesPerSecond, resamplingSeconds } from '../bounds.ts'
import { hasOtherFrames, isDictation, mayBeCoded } from './coded-sound.ts'

/**
 * The most seconds that a recording can have by its bytes, begun ones whole; null where its format can hold silence of any
 * length in a few bytes (FLAC, Ogg, MP4, WebM, AAC), or where it is no format that is known here. A WAV of plain samples
 * is as long as they are; MP3 has a lowest bit rate.
 */
export function mostSecondsOf(bytes: Uint8Array): number | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const seconds = isWav(file) ? wavSeconds(file) : isMp3(file) ? (file.length * 8) / leastSpeechBitsPerSecond : null
  return seconds === null ? null : Math.ceil(seconds) + resamplingSeconds
}

const nameAt = (file: Buffer, at: number): string => file.toString('latin1', at, at + 4)

const isWav = (file: Buffer): boolean => nameAt(file, 0) === 'RIFF' && nameAt(file, 8) === 'WAVE'

/** Frames of a layer that there is, after tags, and none of other sound: a tag may stand before any. */
function isMp3(file: Buffer): boolean {
  const [first = 0, second = 0] = file.subarray(tagBytes(file))
  return first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 && !hasOtherFrames(file)
}

const tagHeadBytes = 10
const hasTagEnd = 0x10

/** Of the tags that the file begins with, whose lengths have seven bits a byte. */
function tagBytes(file: Buffer): number {
  let at = 0
  while (file.toString('latin1', at, at + 3) === 'ID3') {
    const [flags = 0, ...size] = file.subarray(at + 5, at + tagHeadBytes)
    at +=
      tagHeadBytes + size.reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0) + (flags & hasTagEnd ? tagHeadBytes : 0)
  }
  return at
}

const format = { at: 12, leastBytes: 16, integers: 1, floats: 3 } as const
const headerBytes = 44

/** All bytes count as samples, so that no second run of them is forgotten. Null where the header contradicts itself, or the samples are coded. */
function wavSeconds(file: Buffer): number | null {
  if (file.length < headerBytes || nameAt(file, format.at) !== 'fmt ') return null
  if (file.readUInt32LE(format.at + 4) < format.leastBytes) return null
  const tag = file.readUInt16LE(20)
  const channels = file.readUInt16LE(22)
  const rate = file.readUInt32LE(24)
  const bits = file.readUInt16LE(34)
  const isPlain = tag === format.integers ? [8, 16, 24, 32].includes(bits) : tag === format.floats && bits === 32
  const frameBytes = (channels * bits) / 8
  if (!isPlain || channels === 0 || rate === 0 || rate > mostSamplesPerSecond) return null
  if (file.readUInt16LE(32) !== frameBytes || file.readUInt32LE(28) !== rate * frameBytes) return null
  if (isDictation(file)) return null
  if (tag === format.integers && mayBeCoded(file.subarray(dataAt(file)))) return null
  return file.length / (rate * frameBytes)
}

/** Where the samples begin; the end of the header where no mark says it. */
function dataAt(file: Buffer): number {
  const at = file.indexOf('data', headerBytes - 8, 'latin1')
  return at < 0 ? headerBytes : at + 8
}
