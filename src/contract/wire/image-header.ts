import { sniffType } from './media-type.ts'

/** Reads the first bytes of an image, so that nothing is decoded before its type and size are known. */

export const knownImageTypes = ['png', 'jpeg', 'webp', 'gif'] as const
export type ImageType = (typeof knownImageTypes)[number]

interface ImageSize {
  width: number
  height: number
}

export function typeOfBytes(bytes: Buffer): ImageType | null {
  const type = sniffType(bytes)
  return knownImageTypes.find(each => type === `image/${each}`) ?? null
}

/** Returns null if the header is truncated or invalid. */
export function imageSize(type: ImageType, bytes: Buffer): ImageSize | null {
  const size = claimedSize(type, bytes)
  return size && size.width > 0 && size.height > 0 ? size : null
}

function claimedSize(type: ImageType, bytes: Buffer): ImageSize | null {
  switch (type) {
    case 'png':
      return pngSize(bytes)
    case 'gif':
      return bytes.length < 10 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    case 'webp':
      return webpSize(bytes)
    case 'jpeg':
      return jpegSize(bytes)
  }
}

/** Reads only the first chunk, which must be the header; a lenient decoder would accept a later one. */
function pngSize(bytes: Buffer): ImageSize | null {
  if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return null
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function webpSize(bytes: Buffer): ImageSize | null {
  if (bytes.length < 30) return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21)
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** Walks the segments to the first frame header: SOF0 to SOF15, except three that mean something else. */
function jpegSize(bytes: Buffer): ImageSize | null {
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1
      continue
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

/** Whether an image ends as its type requires; damage in between shows only when it is decoded. */
export function isWholeImage(type: ImageType, bytes: Buffer): boolean {
  return ends[type](bytes)
}

const ends: Readonly<Record<ImageType, (bytes: Buffer) => boolean>> = {
  png: bytes => {
    for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
      if (bytes.toString('latin1', at + 4, at + 8) === 'IEND') return true
    }
    return false
  },
  webp: bytes => bytes.length >= 20 && bytes.readUInt32LE(4) + 8 <= bytes.length,
  jpeg: bytes => jpegEnds(bytes),
  gif: bytes => gifEnds(bytes),
}

/** Walks the segments, because a photo's embedded thumbnail has an end of its own. */
function jpegEnds(bytes: Buffer): boolean {
  for (let at = 2; at + 2 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return false
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xd9) return true
    if (marker === 0xff) at += 1
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2
    else if (at + 4 > bytes.length) return false
    else if (marker === 0xda) at = afterScan(bytes, at + 2 + bytes.readUInt16BE(at + 2))
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return false
}

/** Finds the next marker after entropy-coded data, in which 0xff is followed by zero or a restart number. */
function afterScan(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(0xff, from)
  while (at >= 0 && at + 1 < bytes.length) {
    const next = bytes[at + 1] ?? 0
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at
    at = bytes.indexOf(0xff, at + (next === 0xff ? 1 : 2))
  }
  return bytes.length
}

const tableBytes = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)

function gifEnds(bytes: Buffer): boolean {
  let at = 13 + tableBytes(bytes[10] ?? 0)
  while (at < bytes.length) {
    const kind = bytes[at]
    if (kind === 0x3b) return true
    if (kind === 0x21) at = afterBlocks(bytes, at + 2)
    else if (kind === 0x2c) at = afterBlocks(bytes, at + 11 + tableBytes(bytes[at + 9] ?? 0))
    else return false
  }
  return false
}

/** Skips blocks of up to 255 bytes, the last of which is empty. */
function afterBlocks(bytes: Buffer, from: number): number {
  let at = from
  while ((bytes[at] ?? 0) > 0) at += 1 + (bytes[at] ?? 0)
  return at + 1
}
