import { crc32, deflateSync } from 'node:zlib'

/**
 * A small drawn face as a PNG, so that the journey has a picture to ask consent for without shipping anybody's. The sky
 * takes its colour from the time in milliseconds, so that each run brings a picture that nobody has agreed to yet.
 */
export function drawPicture(atMs: number): Buffer {
  const side = 256
  const sky = skyAt(atMs)
  const rows = Array.from({ length: side }, (_, y) => {
    const row = Buffer.alloc(1 + side * 3)
    for (let x = 0; x < side; x++) row.set(colourAt(x - side / 2, y - side / 2, sky), 1 + x * 3)
    return row
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  // Eight bits a channel, RGB.
  header.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

type Colour = [red: number, green: number, blue: number]

const skin: Colour = [236, 200, 160]
const ink: Colour = [60, 44, 40]

/** Six bits of the time a channel: another blue each millisecond, for more than four minutes. */
const skyAt = (atMs: number): Colour => [
  90 + (atMs % 64),
  130 + (Math.floor(atMs / 64) % 64),
  190 + (Math.floor(atMs / 4096) % 64),
]

/** Relative to the middle. */
function colourAt(x: number, y: number, sky: Colour): Colour {
  if (Math.hypot(x, y) > 100) return sky
  const isEye = Math.hypot(Math.abs(x) - 36, y + 26) < 12
  const isMouth = Math.abs(Math.hypot(x, y - 4) - 58) < 5 && y > 26
  return isEye || isMouth ? ink : skin
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}
