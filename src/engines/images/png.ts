import { promisify } from 'node:util'
import { crc32, deflate, inflateSync } from 'node:zlib'

export interface Pixels {
  width: number
  height: number
  /** Red, green and blue, one byte each, row by row from the top. */
  rgb: Buffer
}

/** Pixels of four bytes: red, green, blue and alpha. */
export interface Raster {
  width: number
  height: number
  rgba: Buffer
}

/** Encodes a PNG with eight bits per channel. */
export async function encodePng(image: Pixels | Raster): Promise<Buffer> {
  const { width, height } = image
  const [data, channels] = 'rgb' in image ? [image.rgb, 3] : [image.rgba, 4]
  // Each row begins with its filter type: none.
  const rows = Buffer.alloc(height * (1 + width * channels))
  for (let y = 0; y < height; y++) {
    data.copy(rows, y * (1 + width * channels) + 1, y * width * channels, (y + 1) * width * channels)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits per channel; 2 is RGB, 6 also has alpha.
  header.set([8, channels === 3 ? 2 : 6, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', await promisify(deflate)(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** Bytes per pixel by the header's colour type: grey, RGB, and each with alpha. */
const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 }

/**
 * Decodes plain PNGs without any package: eight bits per channel, no palette, not interlaced. Null for another kind, an
 * error for a broken one. Run it on a thread: a large one takes a tenth of a second.
 */
export function decodePng(bytes: Buffer): Raster | null {
  const width = bytes.readUInt32BE(16)
  const height = bytes.readUInt32BE(20)
  const [depth, colours, , , interlaced] = bytes.subarray(24, 29)
  const channels = channelsOf[colours ?? -1]
  if (depth !== 8 || interlaced !== 0 || channels === undefined) return null
  const rowBytes = width * channels
  const packed = dataOf(bytes)
  const rows = inflateSync(packed, { maxOutputLength: height * (rowBytes + 1) })
  if (rows.length !== height * (rowBytes + 1)) throw new Error('The image does not have its declared size.')
  const plain = unfiltered(rows, rowBytes, channels)
  return { width, height, rgba: withOpacity(plain, channels) }
}

/** Concatenates the data chunks. */
function dataOf(bytes: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT') pieces.push(bytes.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  return Buffer.concat(pieces)
}

/**
 * Each row is encoded as the difference to its left neighbor, the row above, or both (PNG specification, "Filtering").
 */
function unfiltered(rows: Buffer, rowBytes: number, channels: number): Buffer {
  const plain = Buffer.alloc((rows.length / (rowBytes + 1)) * rowBytes)
  for (let row = 0, from = 0, to = 0; from < rows.length; row++, from += rowBytes + 1, to += rowBytes) {
    const filter = rows[from] ?? 0
    if (filter > 4) throw new Error('The image has a row with an unknown filter.')
    for (let x = 0; x < rowBytes; x++) {
      const left = x >= channels ? (plain[to + x - channels] ?? 0) : 0
      const above = row > 0 ? (plain[to + x - rowBytes] ?? 0) : 0
      const corner = row > 0 && x >= channels ? (plain[to + x - rowBytes - channels] ?? 0) : 0
      plain[to + x] = (rows[from + 1 + x] ?? 0) + predicted(filter, left, above, corner)
    }
  }
  return plain
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 1:
      return left
    case 2:
      return above
    case 3:
      return (left + above) >> 1
    case 4:
      return nearest(left, above, corner)
    default:
      return 0
  }
}

/** The Paeth predictor: whichever of the three is nearest to left + above − corner. */
function nearest(left: number, above: number, corner: number): number {
  const [toLeft, toAbove, toCorner] = [
    Math.abs(above - corner),
    Math.abs(left - corner),
    Math.abs(left + above - 2 * corner),
  ]
  if (toLeft <= toAbove && toLeft <= toCorner) return left
  return toAbove <= toCorner ? above : corner
}

function withOpacity(plain: Buffer, channels: number): Buffer {
  if (channels === 4) return plain
  const count = plain.length / channels
  const rgba = Buffer.alloc(count * 4, 255)
  for (let index = 0; index < count; index++) {
    const from = index * channels
    for (let channel = 0; channel < 3; channel++) {
      rgba[index * 4 + channel] = plain[from + (channels >= 3 ? channel : 0)] ?? 0
    }
    if (channels === 2) rgba[index * 4 + 3] = plain[from + 1] ?? 0
  }
  return rgba
}
