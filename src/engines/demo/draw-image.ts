import { createHash } from 'node:crypto'
import type { Pixels } from '../images/png.ts'
import { drawCaption } from './caption.ts'

/** What a demonstration of an image is drawn from. */
export interface ImageDrawing {
  width: number
  height: number
  prompt: string
  /** What should not be there; empty where nothing is said. */
  negativePrompt: string
  style: string
  seed: number
  /** How far colours reach: at twice the usual they are twice as strong. */
  cfgScale: number
  /** Which of the images of one request. */
  variant: number
}

/** What diffusion models take where nothing else is asked for. */
export const usualCfgScale = 7

/** Colours that follow from the words, with the words over them; the same for the same drawing. */
export function drawImage(drawing: ImageDrawing): Pixels {
  const { width, height, prompt, negativePrompt, style, seed, cfgScale, variant } = drawing
  const without = negativePrompt ? ` (without ${negativePrompt})` : ''
  const colours = createHash('sha256').update(`${seed} ${variant} ${style} ${prompt}${without}`).digest()
  const pixels = waves({ width, height }, colours, cfgScale / usualCfgScale)
  overlay(pixels, `${style ? `${style}: ` : ''}${prompt}${without}`)
  return pixels
}

/** Three waves of colour. */
function waves({ width, height }: Pick<Pixels, 'width' | 'height'>, colours: Buffer, strength: number): Pixels {
  const rgb = Buffer.alloc(width * height * 3)
  const at = (index: number) => (colours[index] ?? 0) / 255
  const channels = [0, 1, 2].map(channel => ({
    middle: 70 + 90 * at(channel),
    reach: (40 + 55 * at(channel + 3)) * strength,
    across: ((1 + 5 * at(channel + 6)) * 2 * Math.PI) / width,
    down: ((1 + 5 * at(channel + 9)) * 2 * Math.PI) / height,
    begin: 2 * Math.PI * at(channel + 12),
  }))
  for (const [channel, { middle, reach, across, down, begin }] of channels.entries()) {
    const columns = Float64Array.from({ length: width }, (_, x) => Math.sin(x * across + begin))
    for (let y = 0; y < height; y++) {
      const row = Math.cos(y * down + begin)
      for (let x = 0; x < width; x++) {
        // A byte beyond its bounds would be read as another colour.
        const value = middle + (reach * ((columns[x] ?? 0) + row)) / 2
        rgb[(y * width + x) * 3 + channel] = Math.max(0, Math.min(255, value))
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
