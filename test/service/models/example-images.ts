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

/** A header and an end: enough to tell type and size. */
export const jpegFile = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffc00011080020004003012200021101031101ffd9',
  'hex',
)
export const gifFile = Buffer.from('474946383961400020008000000000000000003b', 'hex')
export const webpFile = Buffer.from('524946461600000057454250565038580a000000000000003f00001f0000', 'hex')
