import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

export interface Pixels {
  width: number
  height: number
  /** Red, green and blue, a byte each, row by row from the top. */
  rgb: Buffer
}

/** The same with opacity. */
export interface Raster {
  width: number
  height: number
  rgba: Buffer
}

/** A PNG of eight bits a channel, without loss. */
export async function encodePng(picture: Pixels | Raster): Promise<Buffer> {
  const { width, height } = picture
  const [data, channels] = 'rgb' in picture ? [picture.rgb, 3] : [picture.rgba, 4]
  // Each row begins with its filter: none.
  const rows = Buffer.alloc(height * (1 + width * channels))
  for (let y = 0; y < height; y++) {
    data.copy(rows, y * (1 + width * channels) + 1, y * width * channels, (y + 1) * width * channels)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits a channel; 2 is RGB, 6 has opacity too.
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
