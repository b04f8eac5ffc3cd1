/**
 * A small drawn face as a PNG, so that the journey has a picture to ask consent for without shipping anybody's. The sky
 * takes its colour from the time in milliseconds, so that each run brings a picture that nobody has agreed to yet.
 */
export async function drawPicture(atMs: number): Promise<Buffer> {
  const { encodePng } = await import('#engines/images/png.ts')
  const side = 256
  const sky = skyAt(atMs)
  const rgb = Buffer.alloc(side * side * 3)
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) rgb.set(colourAt(x - side / 2, y - side / 2, sky), (y * side + x) * 3)
  }
  return encodePng({ width: side, height: side, rgb })
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
