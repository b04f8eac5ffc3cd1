import type { Raster } from '../pictures/encode-png.ts'

/** How far a colour may be from the border's and still count as background; the sum over three channels. */
const tolerance = 96

/**
 * A demonstration of a removed background, without a model: what can be reached from the border over pixels of nearly the
 * border's own colour becomes transparent. It works where a subject stands before one colour.
 */
export function clearBackground({ width, height, rgba }: Raster): Raster {
  const cleared = Buffer.from(rgba)
  const background = borderColour({ width, height, rgba })
  const seen = new Uint8Array(width * height)
  const waiting: number[] = []
  const visit = (index: number) => {
    if (seen[index]) return
    seen[index] = 1
    if (distance(rgba, index * 4, background) <= tolerance) waiting.push(index)
  }
  for (const index of border(width, height)) visit(index)
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    cleared[index * 4 + 3] = 0
    const x = index % width
    if (x > 0) visit(index - 1)
    if (x < width - 1) visit(index + 1)
    if (index >= width) visit(index - width)
    if (index < width * (height - 1)) visit(index + width)
  }
  return { width, height, rgba: cleared }
}

function* border(width: number, height: number): Generator<number> {
  for (let x = 0; x < width; x++) yield* [x, (height - 1) * width + x]
  for (let y = 0; y < height; y++) yield* [y * width, y * width + width - 1]
}

/** The middle value of each channel along the border: a subject that touches it is outvoted. */
function borderColour({ width, height, rgba }: Raster): readonly number[] {
  const indices = [...border(width, height)]
  return [0, 1, 2].map(channel => {
    const values = Uint8Array.from(indices, index => rgba[index * 4 + channel] ?? 0).sort()
    return values[values.length >> 1] ?? 0
  })
}

const distance = (rgba: Buffer, at: number, colour: readonly number[]): number =>
  colour.reduce((sum, value, channel) => sum + Math.abs((rgba[at + channel] ?? 0) - value), 0)
