/** The worker thread on which ESRGAN upscales images. */

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { optionalPackage } from '#host/packages.ts'
import { encodePng, type Raster } from '../images/png.ts'
import { answerImageTasks, rasterOf, resample } from '../images/raster.ts'
import type { EsrganTask } from './upscale.ts'

/** Side of the tiles in which an image is processed, so that memory depends on the tile and not on the image. */
const tileSide = 96

/** Overlap of tiles, so that no seam is visible; the model's layers see no further. */
const tileMargin = 12

answerImageTasks(
  async ({ image, scale }: EsrganTask): Promise<Buffer> =>
    encodePng(await upscaleByEsrgan(await rasterOf(image), scale)),
)

interface Area {
  left: number
  top: number
  width: number
  height: number
}

/** Upscales an image by up to four times: first at the model's scale, then to the exact size. */
async function upscaleByEsrgan(image: Raster, scale: number): Promise<Raster> {
  const modelScale = Math.max(2, Math.ceil(scale)) as ModelScale
  const loaded = await loadModel(modelScale)
  const width = image.width * modelScale
  const height = image.height * modelScale
  // Opacity is not a colour, so it is scaled separately.
  const made: Raster = { width, height, rgba: Buffer.alloc(width * height * 4, 255) }
  for (let top = 0; top < image.height; top += tileSide) {
    for (let left = 0; left < image.width; left += tileSide) {
      const area = {
        left,
        top,
        width: Math.min(tileSide, image.width - left),
        height: Math.min(tileSide, image.height - top),
      }
      await upscaleArea({ image, made, area, modelScale, loaded })
    }
  }
  copyOpacity(image, made)
  const [toWidth, toHeight] = [Math.round(image.width * scale), Math.round(image.height * scale)]
  return toWidth === width && toHeight === height ? made : resample(made, toWidth, toHeight)
}

interface AreaWork {
  image: Raster
  made: Raster
  area: Area
  modelScale: ModelScale
  loaded: Loaded
}

async function upscaleArea({ image, made, area, modelScale, loaded: { tensors, model } }: AreaWork): Promise<void> {
  const seen = withMargin(area, image)
  const input = tensors.tensor4d(colours(image, seen), [1, seen.height, seen.width, 3])
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

function withMargin({ left, top, width, height }: Area, image: Raster): Area {
  const fromLeft = Math.max(0, left - tileMargin)
  const fromTop = Math.max(0, top - tileMargin)
  return {
    left: fromLeft,
    top: fromTop,
    width: Math.min(image.width, left + width + tileMargin) - fromLeft,
    height: Math.min(image.height, top + height + tileMargin) - fromTop,
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

function copyOpacity(image: Raster, made: Raster): void {
  let isSeeThrough = false
  for (let at = 3; at < image.rgba.length; at += 4) isSeeThrough ||= image.rgba[at] !== 255
  if (!isSeeThrough) return
  const { rgba } = resample(image, made.width, made.height)
  for (let at = 3; at < rgba.length; at += 4) made.rgba[at] = rgba[at] ?? 0
}

const modelPackage = '@upscalerjs/esrgan-slim'
const neededFor = 'Local upscaling'

/** Scales for which the package has a model and that a request can ask for. */
type ModelScale = 2 | 3 | 4

interface Loaded {
  tensors: TensorFlow
  model: LayersModel
}

interface ModelFile {
  modelTopology: object
  weightsManifest: readonly { paths: readonly string[]; weights: readonly object[] }[]
}

/** Models loaded on this thread. */
const models = new Map<ModelScale, Promise<Loaded>>()

/** Loads the model of a scale once per thread. Throws a sentence if a package is missing. */
function loadModel(scale: ModelScale): Promise<Loaded> {
  const known = models.get(scale)
  if (known) return known
  const loading = load(scale)
  models.set(scale, loading)
  // A missing package may be installed later, so the failure is not cached.
  loading.catch(() => models.delete(scale))
  return loading
}

async function load(scale: ModelScale): Promise<Loaded> {
  const tensors = await optionalPackage<TensorFlow>('@tensorflow/tfjs-core', neededFor)
  const layers = await optionalPackage<Layers>('@tensorflow/tfjs-layers', neededFor)
  const wasm = await optionalPackage<WasmBackend>('@tensorflow/tfjs-backend-wasm', neededFor)
  wasm.setWasmPaths(`${dirname(pathOf('@tensorflow/tfjs-backend-wasm'))}${sep}`)
  await tensors.setBackend('wasm')
  await tensors.ready()
  const folder = join(packageFolder(pathOf(modelPackage)), 'models', `x${scale}`)
  const { modelTopology, weightsManifest } = JSON.parse(await readFile(join(folder, 'model.json'), 'utf8')) as ModelFile
  const files = await Promise.all(
    weightsManifest.flatMap(({ paths }) => paths.map(path => readFile(join(folder, path)))),
  )
  const weightData = new Uint8Array(Buffer.concat(files)).buffer
  const weightSpecs = weightsManifest.flatMap(({ weights }) => weights)
  return {
    tensors,
    model: await layers.loadLayersModel(tensors.io.fromMemory({ modelTopology, weightSpecs, weightData })),
  }
}

/** Returns the path of a package's entry point. Throws a sentence if it is missing. */
function pathOf(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new Error(`${neededFor} needs the package ${name}, which does not load. Run \`npm install ${name}\`.`, {
      cause,
    })
  }
}

/** The package exports only its entry points, so its folder is found by its name in the path. */
function packageFolder(path: string): string {
  const inner = join('@upscalerjs', 'esrgan-slim')
  return path.slice(0, path.lastIndexOf(inner) + inner.length)
}

/** The part of TensorFlow.js that we use. */
interface TensorFlow {
  setBackend(name: 'wasm'): Promise<boolean>
  ready(): Promise<void>
  tensor4d(values: Float32Array, shape: [number, number, number, number]): Tensor
  dispose(tensors: Tensor | Tensor[]): void
  io: { fromMemory(artifacts: object): object }
}

interface Tensor {
  data(): Promise<Float32Array>
  dispose(): void
}

interface Layers {
  loadLayersModel(handler: object): Promise<LayersModel>
}

interface LayersModel {
  predict(input: Tensor): Tensor
}

interface WasmBackend {
  setWasmPaths(folder: string): void
}
