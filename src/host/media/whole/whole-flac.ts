import { Unreadable } from '../file-faults.ts'

/** The longest frame to search for: 65,535 samples of eight 32-bit channels. */
const longestFrame = 2 * 1024 * 1024

/**
 * FLAC: the file must end with a frame whose checksum is right and which is the last one that the header counts.
 * Returns the length by its header or its last frame, whichever is larger. Throws `Unreadable`.
 */
export function checkFlac(bytes: Buffer): { seconds: number | null; samples: number } {
  const header = streamHeader(bytes)
  const isTagged = bytes.toString('latin1', bytes.length - 128, bytes.length - 125) === 'TAG'
  const end = isTagged ? bytes.length - 128 : bytes.length
  const sum = new BackwardSum()
  for (let at = end - 1; at >= Math.max(header.end, end - longestFrame); at--) {
    sum.add(bytes[at] ?? 0)
    if (sum.value !== 0 || at > end - 8) continue
    const frame = frameAt(bytes, at, end, header.blockSamples)
    if (!frame) continue
    if (frame.endSample < header.totalSamples) break
    const samples = Math.max(header.totalSamples, frame.endSample)
    return { seconds: header.rate > 0 ? samples / header.rate : null, samples }
  }
  throw new Unreadable('cut off: the last frame is missing')
}

interface StreamHeader {
  /** Of each block but the last, if all have the same size. */
  blockSamples: number
  /** 0 if unknown. */
  totalSamples: number
  /** Samples per second. */
  rate: number
  /** Where the frames begin. */
  end: number
}

function streamHeader(bytes: Buffer): StreamHeader {
  let at = 4
  let [blockSamples, totalSamples, rate] = [0, 0, 0]
  while (at + 4 <= bytes.length) {
    const kind = bytes[at] ?? 0
    const size = bytes.readUIntBE(at + 1, 3)
    const start = at + 4
    if ((kind & 0x7f) === 0 && start + 18 <= bytes.length) {
      blockSamples = bytes.readUInt16BE(start)
      rate = bytes.readUIntBE(start + 10, 3) >> 4
      totalSamples = ((bytes[start + 13] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(start + 14)
    }
    at = start + size
    if (kind & 0x80) break
  }
  return { blockSamples, totalSamples, rate, end: at }
}

/** Returns the samples of a block from the code in its frame header. */
function samplesOf(code: number, bytes: Buffer, at: number): number {
  if (code === 1) return 192
  if (code <= 5) return 576 * 2 ** (code - 2)
  if (code === 6) return (bytes[at] ?? 0) + 1
  if (code === 7) return (at + 2 <= bytes.length ? bytes.readUInt16BE(at) : 0) + 1
  return 256 * 2 ** (code - 8)
}

/** Returns null if no frame begins here, which the checksum of its header shows. */
function frameAt(bytes: Buffer, at: number, end: number, blockSamples: number): { endSample: number } | null {
  if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8) return null
  const number = codedNumber(bytes, at + 4)
  if (!number) return null
  const code = (bytes[at + 2] ?? 0) >> 4
  const rate = (bytes[at + 2] ?? 0) & 15
  const sizeBytes = code === 6 ? 1 : code === 7 ? 2 : 0
  const rateBytes = rate === 12 ? 1 : rate === 13 || rate === 14 ? 2 : 0
  const sum = number.end + sizeBytes + rateBytes
  if (sum >= end || crc8(bytes, at, sum) !== bytes[sum]) return null
  const isBySample = ((bytes[at + 1] ?? 0) & 1) === 1
  const first = isBySample ? number.value : number.value * blockSamples
  return { endSample: first + samplesOf(code, bytes, number.end) }
}

/** Reads a number in the style of UTF-8, of up to seven bytes. */
function codedNumber(bytes: Buffer, at: number): { value: number; end: number } | null {
  const head = bytes[at] ?? 0
  if (head < 0x80) return { value: head, end: at + 1 }
  const length = Math.clz32(~(head << 24))
  if (length < 2 || length > 7) return null
  let value = head & (0x7f >> length)
  for (let place = 1; place < length; place++) {
    const next = bytes[at + place] ?? 0
    if ((next & 0xc0) !== 0x80) return null
    value = value * 64 + (next & 0x3f)
  }
  return { value, end: at + length }
}

const sums = (polynomial: number, bits: number): Uint16Array =>
  Uint16Array.from({ length: 256 }, (_, byte) => {
    let sum = byte << (bits - 8)
    for (let bit = 0; bit < 8; bit++) sum = sum & (1 << (bits - 1)) ? (sum << 1) ^ polynomial : sum << 1
    return sum & ((1 << bits) - 1)
  })
const sums8 = sums(0x07, 8)
const sums16 = sums(0x8005, 16)

function crc8(bytes: Buffer, from: number, to: number): number {
  let sum = 0
  for (let at = from; at < to; at++) sum = sums8[(sum ^ (bytes[at] ?? 0)) & 0xff] ?? 0
  return sum
}

/**
 * A 16-bit checksum from a position to the end, while that position moves backward. Each step takes constant time, so a
 * file with a million frame headers takes no longer than any other.
 */
class BackwardSum {
  /** The weight of a byte this far from the end. */
  #weight = 0x8005
  value = 0

  add(byte: number): void {
    let product = 0
    for (let bit = 7; bit >= 0; bit--) {
      product = product & 0x8000 ? ((product << 1) ^ 0x8005) & 0xffff : product << 1
      if ((byte >> bit) & 1) product ^= this.#weight
    }
    this.value ^= product
    this.#weight = ((this.#weight << 8) & 0xffff) ^ (sums16[this.#weight >> 8] ?? 0)
  }
}
