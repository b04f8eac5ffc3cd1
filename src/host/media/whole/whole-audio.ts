import { Unreadable } from '../file-faults.ts'

/**
 * Checks the ends of audio files. FFmpeg silently decodes most of them even if truncated. Each check returns the length
 * that the file claims, null if it claims none, and throws `Unreadable`.
 */

const cutOff = (why: string) => new Unreadable(`cut off: ${why}`)

const nameAt = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4)

/** Sizes from this value on are placeholders by a writer that could not know the size, and mean nothing. */
const unknownSizes = 0xffff_f000

/** RIFF: every chunk must have its stated length. A stream without sizes ends where its bytes end. */
export function checkWav(bytes: Buffer): WavLength {
  let [format, dataBytes]: [PlainFormat | null, number] = [null, 0]
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4)
    if (size >= unknownSizes || (size === 0 && nameAt(bytes, at) === 'data')) return { seconds: null, samples: null }
    if (at + 8 + size > bytes.length) throw cutOff(`the chunk ${nameAt(bytes, at)} has ${size} bytes`)
    if (nameAt(bytes, at) === 'fmt ') format = plainFormat(bytes, at + 8)
    if (nameAt(bytes, at) === 'data') dataBytes = size
    at += 8 + size + (size % 2)
  }
  const whole = bytes.readUInt32LE(4)
  if (whole < unknownSizes && whole + 8 > bytes.length + 1) throw cutOff(`its header declares ${whole + 8} bytes`)
  const samples = format && dataBytes / format.frameBytes
  return { seconds: format && samples && samples / format.rate, samples }
}

interface WavLength {
  seconds: number | null
  samples: number | null
}

interface PlainFormat {
  /** Frames per second, each with a sample of every channel. */
  rate: number
  frameBytes: number
}

/** Reads the format of plain samples, which alone determines their length; null for coded ones. */
function plainFormat(bytes: Buffer, at: number): PlainFormat | null {
  if (at + 16 > bytes.length) return null
  const tag = bytes.readUInt16LE(at)
  const coding = tag === extensible && at + 26 <= bytes.length ? bytes.readUInt16LE(at + 24) : tag
  const [rate, frameBytes] = [
    bytes.readUInt32LE(at + 4),
    (bytes.readUInt16LE(at + 2) * bytes.readUInt16LE(at + 14)) / 8,
  ]
  return (coding === integers || coding === floats) && rate > 0 && frameBytes > 0 ? { rate, frameBytes } : null
}

const integers = 1
const floats = 3
/** The actual format code is further on. */
const extensible = 0xfffe

/** Ogg: pages must follow each other to the end, and each stream must have its last page. */
export function checkOgg(bytes: Buffer): null {
  const open = new Set<number>()
  for (let at = 0; at < bytes.length; ) {
    const segments = bytes[at + 26]
    if (nameAt(bytes, at) !== 'OggS' || segments === undefined) {
      if (at === 0 || open.size > 0) throw cutOff('a page is missing')
      return null
    }
    const sizes = bytes.subarray(at + 27, at + 27 + segments)
    const end = at + 27 + segments + sizes.reduce((sum, size) => sum + size, 0)
    if (sizes.length < segments || end > bytes.length) throw cutOff('the last page is incomplete')
    const serial = bytes.readUInt32LE(at + 14)
    if ((bytes[at + 5] ?? 0) & 4) open.delete(serial)
    else open.add(serial)
    at = end
  }
  if (open.size > 0) throw cutOff('the last page is missing')
  return null
}

/** Raw AAC: frames must follow each other, and the last must be complete. */
export function checkAdts(bytes: Buffer): number {
  let at = tagBytes(bytes)
  let seconds = 0
  const end = beforeTags(bytes)
  while (at + 7 <= end) {
    const isFrame = bytes[at] === 0xff && ((bytes[at + 1] ?? 0) & 0xf6) === 0xf0
    const size = isFrame ? (bytes.readUInt32BE(at + 3) >>> 13) & 0x1fff : 0
    if (size < 7) {
      at++
      continue
    }
    if (at + size > end) throw cutOff('the last frame is incomplete')
    const rate = adtsRates[((bytes[at + 2] ?? 0) >> 2) & 15]
    if (rate !== undefined) seconds += (1_024 * (((bytes[at + 6] ?? 0) & 3) + 1)) / rate
    at += size
  }
  if (at < end && bytes[at] === 0xff) throw cutOff('the last frame is incomplete')
  return seconds
}

const adtsRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const

/** MPEG audio: the last frame must be complete, and all frames that a header counts must exist. */
export function checkMp3(bytes: Buffer): number | null {
  const end = beforeTags(bytes)
  let at = tagBytes(bytes)
  let [frames, counted, seconds] = [0, 0, 0]
  while (at + 4 <= end) {
    const frame = mpegFrame(bytes.readUInt32BE(at))
    if (frame === 'free') return null
    if (frame === null) {
      at++
      continue
    }
    const { size } = frame
    if (at + size > end) throw cutOff('the last frame is incomplete')
    if (frames === 0) counted = countedFrames(bytes.subarray(at, at + size))
    frames++
    seconds += frame.seconds
    at += size
  }
  if (at < end && bytes[at] === 0xff) throw cutOff('the last frame is incomplete')
  // The frame with the count may include itself.
  if (frames < counted) throw cutOff(`${frames} of ${counted} frames`)
  return seconds
}

/** Returns the frame count from a file's first frame, or 0 if it has none. */
function countedFrames(frame: Buffer): number {
  const at = ['Xing', 'Info'].map(name => frame.indexOf(name, 0, 'latin1')).find(place => place > 0 && place < 48)
  if (at === undefined || at + 12 > frame.length || !((frame[at + 7] ?? 0) & 1)) return 0
  return frame.readUInt32BE(at + 8)
}

const kilobits: Readonly<Record<string, readonly number[]>> = {
  '1 1': [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '1 2': [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '1 3': [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '2 1': [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '2 2': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}
const rates = [44_100, 48_000, 32_000] as const

interface MpegFrame {
  /** In bytes. */
  size: number
  seconds: number
}

/** Null if this is not a frame header; `free` for a frame whose length only decoding tells. */
function mpegFrame(head: number): MpegFrame | 'free' | null {
  const version = (head >>> 19) & 3
  const layer = 4 - ((head >>> 17) & 3)
  const rate = rates[(head >>> 10) & 3]
  const index = (head >>> 12) & 15
  if (head >>> 21 !== 0x7ff || version === 1 || layer === 4 || rate === undefined || index === 15) return null
  if (index === 0) return 'free'
  const isFirst = version === 3
  const bits = (kilobits[`${isFirst ? 1 : 2} ${isFirst ? layer : Math.min(layer, 2)}`]?.[index] ?? 0) * 1_000
  const perSecond = rate / (isFirst ? 1 : version === 2 ? 2 : 4)
  const padding = (head >>> 9) & 1
  if (layer === 1) return { size: (Math.floor((12 * bits) / perSecond) + padding) * 4, seconds: 384 / perSecond }
  const samples = layer === 3 && !isFirst ? 576 : 1_152
  return { size: Math.floor((samples * bits) / 8 / perSecond) + padding, seconds: samples / perSecond }
}

/** Skips ID3 tags before the audio. */
function tagBytes(bytes: Buffer): number {
  let at = 0
  while (bytes.toString('latin1', at, at + 3) === 'ID3' && at + 10 <= bytes.length) {
    const size = [6, 7, 8, 9].reduce((sum, place) => sum * 128 + ((bytes[at + place] ?? 0) & 0x7f), 0)
    at += 10 + size + ((bytes[at + 5] ?? 0) & 0x10 ? 10 : 0)
  }
  return Math.min(at, bytes.length)
}

/** Returns where the audio ends, before any tags at the end. */
function beforeTags(bytes: Buffer): number {
  let end = bytes.length
  if (end >= 128 && bytes.toString('latin1', end - 128, end - 125) === 'TAG') end -= 128
  if (end >= 32 && bytes.toString('latin1', end - 32, end - 24) === 'APETAGEX') {
    end -= bytes.readUInt32LE(end - 20) + (bytes.readUInt32LE(end - 12) & 0x8000_0000 ? 32 : 0)
  }
  return Math.max(0, end)
}
