import { deflateSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { imageSize } from '#contract/wire/image-header.ts'
import { DemoImageEdits } from '#engines/demo/images.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import { decodePng, encodePng, type Raster } from '#engines/images/png.ts'

/** A thread has to start, on a machine that may be busy. */
const threadMs = 60_000

const engine = new DemoImageEdits()
afterAll(() => engine.close())

const never = new AbortController().signal
const white = [255, 255, 255]

/** A square of one colour before another. */
async function square(width: number, height: number, inside: number[], outside = white): Promise<ImageFile> {
  const isInside = (x: number, y: number) =>
    Math.abs(x - width / 2) < width / 4 && Math.abs(y - height / 2) < height / 4
  const at = Array.from({ length: width * height }, (_, index) => isInside(index % width, Math.floor(index / width)))
  const bytes = await encodePng({ width, height, rgb: Buffer.from(at.flatMap(each => (each ? inside : outside))) })
  return { type: 'png', bytes, width, height }
}

function rasterOf(bytes: Buffer): Raster {
  const raster = decodePng(bytes)
  if (!raster) throw new Error('This is no plain PNG.')
  return raster
}

const pixel = ({ width, rgba }: Raster, x: number, y: number) => [
  ...rgba.subarray((y * width + x) * 4, (y * width + x) * 4 + 4),
]

const edit = (images: ImageFile[], prompt: string, change: object = {}) =>
  engine.edit({ request: { images, prompt, format: 'png', ...change }, engineModel: '', signal: never })

test(
  'an edit does what the words say, and writes them over the lower edge',
  async () => {
    const image = await square(64, 64, [200, 0, 0])
    const grey = rasterOf(await edit([image], 'in black and white'))
    const [red, green, blue] = pixel(grey, 32, 20)
    expect([red === green && green === blue, red]).toEqual([true, 59])
    const inverted = rasterOf(await edit([image], 'Invert it'))
    expect([pixel(inverted, 32, 20), pixel(inverted, 0, 0)]).toEqual([
      [55, 255, 255, 255],
      [0, 0, 0, 255],
    ])
    const untouched = rasterOf(await edit([image], 'a boat'))
    expect(pixel(untouched, 32, 20)).toEqual([200, 0, 0, 255])
    expect(pixel(untouched, 0, 63)).not.toEqual([...white, 255])
  },
  threadMs,
)

test(
  'several stand side by side, and a ratio takes the middle of them',
  async () => {
    const images = [await square(40, 20, [0, 0, 0]), await square(24, 32, [0, 0, 0])]
    expect(imageSize('png', await edit(images, 'both'))).toEqual({ width: 64, height: 32 })
    expect(imageSize('png', await edit(images, 'both', { aspectRatio: '1:1' }))).toEqual({ width: 32, height: 32 })
  },
  threadMs,
)

test(
  'a larger image has the size that was asked for and the same colours',
  async () => {
    const image = await square(16, 12, [10, 200, 30])
    const request = { image, scale: 2.5 }
    const large = rasterOf(await engine.upscale({ request, engineModel: '', signal: never }))
    expect([large.width, large.height, pixel(large, 0, 0), pixel(large, 20, 15)]).toEqual([
      40,
      30,
      [...white, 255],
      [10, 200, 30, 255],
    ])
  },
  threadMs,
)

test(
  'what has the border’s colour becomes transparent, and the subject stays',
  async () => {
    const image = await square(32, 32, [0, 0, 120], [250, 250, 245])
    const cut = rasterOf(await engine.removeBackground({ image, engineModel: '', signal: never }))
    expect([pixel(cut, 1, 1)[3], pixel(cut, 16, 16)]).toEqual([0, [0, 0, 120, 255]])
  },
  threadMs,
)

test(
  'an image that is broken inside is the caller’s fault, and one who leaves keeps nobody waiting',
  async () => {
    const whole = await square(64, 64, [0, 0, 0])
    const broken = Buffer.from(whole.bytes)
    broken.fill(0, 50, 80)
    const signal = AbortSignal.abort(new Error('left'))
    await expect(edit([{ ...whole, bytes: broken }], 'x')).rejects.toMatchObject({ kind: 'CORRUPTED_IMAGE' })
    const request = { images: [whole], prompt: 'x', format: 'png' as const }
    await expect(engine.edit({ request, engineModel: '', signal })).rejects.toThrow('left')
    expect(imageSize('png', await edit([whole], 'x'))).toEqual({ width: 64, height: 64 })
  },
  threadMs,
)

const rows: [filter: number, row: number[]][] = [
  [0, [10, 20, 30]],
  [1, [10, 10, 10]],
  [2, [1, 1, 1]],
  [3, [6, 1, 1]],
  [4, [1, 1, 1]],
]
test('every kind of row of a PNG is read as the specification says', async () => {
  const plain = await encodePng({ width: 3, height: rows.length, rgb: Buffer.alloc(3 * 3 * rows.length) })
  const header = Buffer.from(plain.subarray(0, 33))
  // Grey, a byte a pixel.
  header[25] = 0
  const data = deflateSync(Buffer.from(rows.flatMap(([filter, row]) => [filter, ...row])))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const bytes = Buffer.concat([header, length, Buffer.from('IDAT'), data, Buffer.alloc(4), plain.subarray(-12)])
  const { rgba } = rasterOf(bytes)
  const grey = rows.map((_, y) => [0, 1, 2].map(x => rgba[(y * 3 + x) * 4]))
  // 3: half of left and above; 4: whichever of left, above and corner is nearest to left + above − corner.
  expect(grey).toEqual([
    [10, 20, 30],
    [10, 20, 30],
    [11, 21, 31],
    [11, 17, 25],
    [12, 18, 26],
  ])
})
