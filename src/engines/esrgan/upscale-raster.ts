import type { Raster } from '../pictures/encode-png.ts'
import { resample } from '../pictures/resample.ts'
import { type Loaded, loadModel, type ModelScale } from './load-model.ts'

/** A side of the squares in which a picture is worked on: memory grows with the square, and not with the picture. */
const tileSide = 96

/** How far beyond a square the model looks, so that no seam shows; its layers see no further. */
const tileMargin = 12

interface Area {
  left: number
  top: number
  width: number
  height: number
}

/** A larger picture by ESRGAN, on the thread that calls it: up to four times, at the model's scale and then to measure. */
export async function upscaleByEsrgan(picture: Raster, scale: number): Promise<Raster> {
  const modelScale = Math.max(2, Math.ceil(scale)) as ModelScale
  const loaded = await loadModel(modelScale)
  const width = picture.width * modelScale
  const height = picture.height * modelScale
  // Opacity is no colour: it is made larger by itself.
  const made: Raster = { width, height, rgba: Buffer.alloc(width * height * 4, 255) }
  for (let top = 0; top < picture.height; top += tileSide) {
    for (let left = 0; left < picture.width; left += tileSide) {
      const area = {
        left,
        top,
        width: Math.min(tileSide, picture.width - left),
        height: Math.min(tileSide, picture.height - top),
      }
      await upscaleArea({ picture, made, area, modelScale, loaded })
    }
  }
  copyOpacity(picture, made)
  const [toWidth, toHeight] = [Math.round(picture.width * scale), Math.round(picture.height * scale)]
  return toWidth === width && toHeight === height ? made : resample(made, toWidth, toHeight)
}

interface AreaWork {
  picture: Raster
  made: Raster
  area: Area
  modelScale: ModelScale
  loaded: Loaded
}

async function upscaleArea({ picture, made, area, modelScale, loaded: { tensors, model } }: AreaWork): Promise<void> {
  const seen = withMargin(area, picture)
  const input = tensors.tensor4d(colours(picture, seen), [1, seen.height, seen.width, 3])
  const output = model.predict(input)
  const values = await output.data()
  tensors.dispose([input, output])
  const rowValues = seen.width * modelScale * 3
  for (let y = 0; y < area.height * modelScale; y++) {
    const fromRow = ((area.top - seen.top) * modelScale + y) * rowValues + (area.left - seen.left) * modelScale * 3
    const toRow = ((area.top * modelScale + y) * made.width + area.left * modelScale) * 4
    for (let x = 0; x < area.width * modelScale; x++) {
      for (let channel = 0; channel < 3; channel++) {
        const value = Math.round(values[fromRow + x * 3 + channel] ?? 0)
        made.rgba[toRow + x * 4 + channel] = Math.max(0, Math.min(255, value))
      }
    }
  }
}

function withMargin({ left, top, width, height }: Area, picture: Raster): Area {
  const fromLeft = Math.max(0, left - tileMargin)
  const fromTop = Math.max(0, top - tileMargin)
  return {
    left: fromLeft,
    top: fromTop,
    width: Math.min(picture.width, left + width + tileMargin) - fromLeft,
    height: Math.min(picture.height, top + height + tileMargin) - fromTop,
  }
}

function colours({ width, rgba }: Raster, area: Area): Float32Array {
  const values = new Float32Array(area.width * area.height * 3)
  for (let y = 0, at = 0; y < area.height; y++) {
    for (let x = 0; x < area.width; x++) {
      const from = ((area.top + y) * width + area.left + x) * 4
      for (let channel = 0; channel < 3; channel++) values[at++] = rgba[from + channel] ?? 0
    }
  }
  return values
}

function copyOpacity(picture: Raster, made: Raster): void {
  let isSeeThrough = false
  for (let at = 3; at < picture.rgba.length; at += 4) isSeeThrough ||= picture.rgba[at] !== 255
  if (!isSeeThrough) return
  const { rgba } = resample(picture, made.width, made.height)
  for (let at = 3; at < rgba.length; at += 4) made.rgba[at] = rgba[at] ?? 0
}
