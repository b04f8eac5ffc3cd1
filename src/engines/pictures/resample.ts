import type { Raster } from './encode-png.ts'

/** Weights of the four nearest pixels (Catmull–Rom), for a point at `part` between the second and the third. */
function weights(part: number): readonly [number, number, number, number] {
  const [square, cube] = [part * part, part * part * part]
  return [
    -0.5 * part + square - 0.5 * cube,
    1 - 2.5 * square + 1.5 * cube,
    0.5 * part + 2 * square - 1.5 * cube,
    -0.5 * square + 0.5 * cube,
  ]
}

/** The same picture in another size, bicubic: first along the rows, then along the columns. */
export function resample(picture: Raster, width: number, height: number): Raster {
  const across = resampledRows(picture, width)
  const down = resampledRows(turned(across), height)
  return turned(down)
}

function resampledRows({ width: from, height, rgba }: Raster, width: number): Raster {
  const made = Buffer.alloc(width * height * 4)
  for (let x = 0; x < width; x++) {
    const at = ((x + 0.5) * from) / width - 0.5
    const first = Math.floor(at)
    const [a, b, c, d] = weights(at - first)
    const column = (offset: number) => Math.min(from - 1, Math.max(0, first + offset)) * 4
    const [before, left, right, after] = [column(-1), column(0), column(1), column(2)]
    for (let y = 0; y < height; y++) {
      const row = y * from * 4
      for (let channel = 0; channel < 4; channel++) {
        const at = row + channel
        const value =
          a * (rgba[at + before] ?? 0) +
          b * (rgba[at + left] ?? 0) +
          c * (rgba[at + right] ?? 0) +
          d * (rgba[at + after] ?? 0)
        made[(y * width + x) * 4 + channel] = Math.max(0, Math.min(255, Math.round(value)))
      }
    }
  }
  return { width, height, rgba: made }
}

/** Rows as columns. */
function turned({ width, height, rgba }: Raster): Raster {
  const made = Buffer.alloc(rgba.length)
  const [from, to] = [
    new Uint32Array(rgba.buffer, rgba.byteOffset, width * height),
    new Uint32Array(made.buffer, made.byteOffset, width * height),
  ]
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) to[x * height + y] = from[y * width + x] ?? 0
  }
  return { width: height, height: width, rgba: made }
}
