import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { optionalPackage } from '#host/optional-package.ts'
import type { Layers, LayersModel, TensorFlow, WasmBackend } from './tensors.ts'

export const modelPackage = '@upscalerjs/esrgan-slim'
const neededFor = 'Local upscaling'

/** Scales that the package has a model of, and that a request can ask for. */
export type ModelScale = 2 | 3 | 4

export interface Loaded {
  tensors: TensorFlow
  model: LayersModel
}

interface ModelFile {
  modelTopology: object
  weightsManifest: readonly { paths: readonly string[]; weights: readonly object[] }[]
}

const loaded = new Map<ModelScale, Promise<Loaded>>()

/** The model of a scale, read once a thread. Throws a sentence where a package is missing. */
export function loadModel(scale: ModelScale): Promise<Loaded> {
  const known = loaded.get(scale)
  if (known) return known
  const loading = load(scale)
  loaded.set(scale, loading)
  // A package may be installed meanwhile, so that it is missing is not kept.
  loading.catch(() => loaded.delete(scale))
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

/** Where a package's door lies. Throws the sentence for one that is missing. */
function pathOf(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new Error(`${neededFor} needs the package ${name}, which does not load: npm install ${name}`, { cause })
  }
}

/** The package shows its doors and not its files, so its folder is found by its name in the path. */
function packageFolder(path: string): string {
  const inner = join('@upscalerjs', 'esrgan-slim')
  return path.slice(0, path.lastIndexOf(inner) + inner.length)
}
