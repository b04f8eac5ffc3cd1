import { afterAll, describe, expect, test } from 'vitest'
import { EsrganUpscale } from '#engines/esrgan/upscale.ts'
import { decodePng, encodePng } from '#engines/images/png.ts'

/** The packages are read and compiled first, on a machine that may be busy. */
const modelMs = 120_000

/** Two halves of a colour each, wider than one square of the model’s work. */
async function halves(width: number, height: number) {
  const left = [220, 30, 30]
  const right = [30, 30, 220]
  const pixels = Array.from({ length: width * height }, (_, index) => (index % width < width / 2 ? left : right))
  return {
    type: 'png' as const,
    bytes: await encodePng({ width, height, rgb: Buffer.from(pixels.flat()) }),
    width,
    height,
  }
}

describe('the local upscaler', { tags: ['engines'] }, () => {
  const engine = new EsrganUpscale()
  afterAll(() => engine.close())

  test.each([2, 2.5])(
    'makes an image %d times as large, of the same colours and without seams',
    async scale => {
      const image = await halves(112, 16)
      const signal = new AbortController().signal
      const made = decodePng(await engine.upscale({ request: { image, scale }, engineModel: '', signal }))
      expect([made?.width, made?.height]).toEqual([112 * scale, 16 * scale])
      const middle = 8 * scale
      // 96 is where one square ends and the next begins.
      for (const [x, expected] of [
        [20, [220, 30, 30]] as const,
        ...[90, 95.5, 96, 100].map(x => [x, [30, 30, 220]] as const),
      ]) {
        const at = (middle * 112 * scale + Math.round(x * scale)) * 4
        const colour = [...(made?.rgba.subarray(at, at + 3) ?? [])]
        const furthest = Math.max(...colour.map((value, channel) => Math.abs(value - (expected[channel] ?? 0))))
        expect(furthest, `at ${x}: ${colour}`).toBeLessThan(24)
      }
    },
    modelMs,
  )
})
