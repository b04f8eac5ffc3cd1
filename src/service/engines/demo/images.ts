import { createHash } from 'node:crypto'
import { encodePng, type Pixels } from '../../media/encode-png.ts'
import type { ImageCall, ImageEngine } from '../engine.ts'
import { drawCaption } from './caption.ts'

/**
 * Pictures of colours that follow from the words, with the words in them. Nothing is understood; it shows the path of a
 * request. The same prompt and seed give the same picture.
 */
export class DemoImages implements ImageEngine {
  async generate({ request, signal }: ImageCall): Promise<Buffer[]> {
    const pictures: Buffer[] = []
    for (let variant = 0; variant < request.count; variant++) {
      signal.throwIfAborted()
      const { width, height, prompt, style = '', seed = 0 } = request
      const colours = createHash('sha256').update(`${seed} ${variant} ${style} ${prompt}`).digest()
      const pixels = drawn({ width, height }, colours)
      overlay(pixels, style ? `${style}: ${prompt}` : prompt)
      // The packing, which takes longest, is done in another thread.
      pictures.push(await encodePng(pixels))
    }
    return pictures
  }
}

/** Three waves of colour. */
function drawn({ width, height }: Pick<Pixels, 'width' | 'height'>, colours: Buffer): Pixels {
  const rgb = Buffer.alloc(width * height * 3)
  const at = (index: number) => (colours[index] ?? 0) / 255
  const waves = [0, 1, 2].map(channel => ({
    middle: 70 + 90 * at(channel),
    reach: 40 + 55 * at(channel + 3),
    across: ((1 + 5 * at(channel + 6)) * 2 * Math.PI) / width,
    down: ((1 + 5 * at(channel + 9)) * 2 * Math.PI) / height,
    begin: 2 * Math.PI * at(channel + 12),
  }))
  for (const [channel, { middle, reach, across, down, begin }] of waves.entries()) {
    const columns = Float64Array.from({ length: width }, (_, x) => Math.sin(x * across + begin))
    for (let y = 0; y < height; y++) {
      const row = Math.cos(y * down + begin)
      for (let x = 0; x < width; x++) {
        // A byte below nothing would be read as almost white.
        rgb[(y * width + x) * 3 + channel] = Math.max(0, middle + (reach * ((columns[x] ?? 0) + row)) / 2)
      }
    }
  }
  return { width, height, rgb }
}

/** The words, over the lower edge. */
function overlay({ width, height, rgb }: Pixels, words: string): void {
  const caption = drawCaption(words, { width, height })
  const top = Math.max(0, height - caption.height)
  for (let y = 0; y < Math.min(caption.height, height); y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * caption.width + x) * 4
      const to = ((top + y) * width + x) * 3
      const opacity = (caption.rgba[from + 3] ?? 0) / 255
      for (let channel = 0; channel < 3; channel++) {
        rgb[to + channel] = (caption.rgba[from + channel] ?? 0) * opacity + (rgb[to + channel] ?? 0) * (1 - opacity)
      }
    }
  }
}
