import { sniffType } from './media-type.ts'

/** What the first bytes of a picture say, so that nothing is decoded before its type and size are known. */

export const pictureTypes = ['png', 'jpeg', 'webp', 'gif'] as const
export type PictureType = (typeof pictureTypes)[number]

export interface PictureSize {
  width: number
  height: number
}

export function typeOfBytes(bytes: Buffer): PictureType | null {
  const type = sniffType(bytes)
  return pictureTypes.find(each => type === `image/${each}`) ?? null
}

/** Null where the header is cut off or makes no sense. */
export function pictureSize(type: PictureType, bytes: Buffer): PictureSize | null {
  const size = claimedSize(type, bytes)
  return size && size.width > 0 && size.height > 0 ? size : null
}

function claimedSize(type: PictureType, bytes: Buffer): PictureSize | null {
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

/** Of the first chunk, which the format wants to be the header; a lenient decoder would take a later one instead. */
function pngSize(bytes: Buffer): PictureSize | null {
  if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return null
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function webpSize(bytes: Buffer): PictureSize | null {
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

/** Walks the segments to the first frame header: SOF0 to SOF15 without the three that are something else. */
function jpegSize(bytes: Buffer): PictureSize | null {
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
