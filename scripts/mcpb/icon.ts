import { encodePng } from '#engines/images/png.ts'

/** Red, green, blue and opacity, each from 0 to 255. */
type Colour = readonly [number, number, number, number]

/** Pixels per side, as installing clients recommend. */
const side = 512

/** Distance to the edge of a shape in pixels; negative inside. */
type Shape = (x: number, y: number) => number

const roundedBox =
  (centreX: number, centreY: number, halfWidth: number, halfHeight: number, radius: number): Shape =>
  (x, y) => {
    const beyondX = Math.abs(x - centreX) - halfWidth + radius
    const beyondY = Math.abs(y - centreY) - halfHeight + radius
    const outside = Math.hypot(Math.max(beyondX, 0), Math.max(beyondY, 0))
    return outside + Math.min(Math.max(beyondX, beyondY), 0) - radius
  }

const disc =
  (centreX: number, centreY: number, radius: number): Shape =>
  (x, y) =>
    Math.hypot(x - centreX, y - centreY) - radius

/** The part of the first shape above the line. */
const above =
  (shape: Shape, line: number): Shape =>
  (x, y) =>
    Math.max(shape(x, y), y - line)

/** The height of the coin slot. */
const slotY = 296

/** From back to front: the box, its slot, and a coin that is half inside. */
const layers: readonly (readonly [Shape, Colour])[] = [
  [roundedBox(256, 256, 240, 240, 96), [18, 52, 64, 255]],
  [roundedBox(256, slotY, 152, 18, 18), [6, 22, 28, 255]],
  [above(disc(256, 232, 112), slotY), [244, 190, 79, 255]],
  [above(disc(256, 232, 88), slotY), [222, 161, 48, 255]],
  [above(roundedBox(256, 232, 14, 50, 14), slotY), [255, 231, 173, 255]],
  [roundedBox(256, 392, 112, 16, 16), [62, 180, 160, 255]],
]

/** The icon of the bundle, as PNG. */
export function icon(): Promise<Buffer> {
  const rgba = Buffer.alloc(side * side * 4)
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) rgba.set(colourAt(x, y), (y * side + x) * 4)
  }
  return encodePng({ width: side, height: side, rgba })
}

function colourAt(x: number, y: number): Colour {
  let colour: Colour = [0, 0, 0, 0]
  for (const [shape, paint] of layers) {
    // A pixel on an edge is partly covered.
    const covered = Math.min(1, Math.max(0, 0.5 - shape(x + 0.5, y + 0.5)))
    colour = over(colour, paint, covered)
  }
  return colour
}

function over(below: Colour, paint: Colour, covered: number): Colour {
  const opacity = covered + (below[3] / 255) * (1 - covered)
  if (opacity === 0) return below
  const mixed = (channel: 0 | 1 | 2) =>
    Math.round((paint[channel] * covered + (below[channel] * below[3] * (1 - covered)) / 255) / opacity)
  return [mixed(0), mixed(1), mixed(2), Math.round(opacity * 255)]
}
