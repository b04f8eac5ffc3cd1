import { crc32, deflateSync } from 'node:zlib'

/** Red, green, blue and opacity, each from 0 to 255. */
export type Colour = readonly [number, number, number, number]

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A square PNG of `side` pixels, eight bits a channel; `colourAt` is asked once a pixel. */
export function png(side: number, colourAt: (x: number, y: number) => Colour): Buffer {
  const stride = 1 + 4 * side
  // The first byte of a row says that nothing was subtracted from it.
  const pixels = Buffer.alloc(stride * side)
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) pixels.set(colourAt(x, y), y * stride + 1 + 4 * x)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 6, 0, 0, 0], 8)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
