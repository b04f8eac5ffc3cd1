import { crc32, deflateSync } from 'node:zlib'

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/** A whole PNG of one colour; the size in its header may lie. */
export function png(
  width: number,
  height: number,
  said: { width: number; height: number } = { width, height },
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(said.width, 0)
  header.writeUInt32BE(said.height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, Buffer.from([200, 40, 40]))])
  const rows = Buffer.concat(Array.from({ length: height }, () => row))
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

export const dataUrl = (type: string, bytes: Buffer): string => `data:image/${type};base64,${bytes.toString('base64')}`

/** Headers alone: enough to tell type and size. */
export const jpegHeader = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffc0001108002000400301220002110103110100',
  'hex',
)
export const gifHeader = Buffer.from('4749463839614000200080000000000000000000', 'hex')
export const webpHeader = Buffer.from('524946464000000057454250565038580a000000000000003f00001f0000', 'hex')
