/** Truncated images of every type are refused; intact ones are accepted. */
import { beforeAll, describe, expect, test } from 'vitest'
import { isWholeImage, typeOfBytes } from '#contract/wire/image-header.ts'
import { drawn, made } from '../media/made-media.ts'

const still = (as: string) => `testsrc=d=1:s=96x64:r=1,format=${as}`
const moving = (as: string) => `testsrc=d=1:s=96x64:r=5,format=${as}`

/** A photo whose small image, with an end of its own, stands before its lines. */
async function photo(): Promise<Buffer> {
  const [small, large] = [
    await image('mjpeg', 'mjpeg', still('yuvj420p')),
    await image('mjpeg', 'mjpeg', still('yuvj420p')),
  ]
  const segment = Buffer.alloc(4)
  segment.writeUInt16BE(0xffe1)
  segment.writeUInt16BE(small.length + 2, 2)
  return Buffer.concat([large.subarray(0, 2), segment, small, large.subarray(2)])
}

const image = (format: string, encoder: string, graph: string) => made(format, [drawn(graph, { encoder, options: {} })])

const kinds: [kind: string, make: () => Promise<Buffer>][] = [
  ['PNG', () => image('image2pipe', 'png', still('rgb24'))],
  ['JPEG', () => image('mjpeg', 'mjpeg', still('yuvj420p'))],
  ['JPEG with a small image in it', photo],
  ['GIF', () => image('gif', 'gif', still('rgb8'))],
  ['GIF that moves', () => image('gif', 'gif', moving('rgb8'))],
  ['WebP', () => image('webp', 'libwebp', still('yuv420p'))],
  ['WebP that moves', () => image('webp', 'libwebp_anim', moving('yuv420p'))],
]

describe.each(kinds)('%s', { timeout: 60_000 }, (_kind, make) => {
  let file: Buffer
  const isWhole = (bytes: Buffer) => {
    const type = typeOfBytes(bytes)
    return type !== null && isWholeImage(type, bytes)
  }
  beforeAll(async () => {
    file = await make()
  })

  test('is taken where it is whole, with bytes behind it or without', () => {
    expect([isWhole(file), isWhole(Buffer.concat([file, Buffer.alloc(64)]))]).toEqual([true, true])
  })

  test('is refused where its end is missing', () => {
    const ends = Array.from({ length: 40 }, (_, part) => Math.floor((file.length * part) / 40))
    const taken = [...ends, file.length - 1, file.length - 8].filter(end => isWhole(file.subarray(0, end)))
    expect(taken).toEqual([])
  })
})
