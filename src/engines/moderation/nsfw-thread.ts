/** Entry point of the local moderator's thread. A task is an image file. */
import { createRequire } from 'node:module'
import { dirname, sep } from 'node:path'
import { optionalPackage } from '#host/packages.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'

/** The model's confidence that an image is sexual, from 0 to 1. */
export type NsfwAnswer = { adult: number } | { problem: string }

const neededFor = 'Moderation with nsfwjs'

/** Side of the model's square input in pixels, each channel from 0 to 1. */
const seenSide = 224

/** The model's outputs are Drawing, Hentai, Neutral, Porn and Sexy; the last is clothed. */
const sexualClasses = [1, 3]

interface Tensor {
  data(): Promise<Float32Array>
  dispose(): void
}

/** The part of TensorFlow.js that we use. */
interface TensorFlow {
  setBackend(name: 'wasm'): Promise<boolean>
  ready(): Promise<void>
  tensor4d(values: Float32Array, shape: readonly number[]): Tensor
  io: { fromMemory(artifacts: object): object }
}
interface Layers {
  loadLayersModel(handler: object): Promise<{ predict(input: Tensor): Tensor }>
}

/** The part of `nsfwjs` that we use: its model as JSON, and the weights as base64. */
interface ModelFiles {
  MobileNetV2Model: {
    modelJson(): Promise<{ default: { modelTopology: object; weightsManifest: readonly { weights: object[] }[] } }>
    weightBundles: readonly (() => Promise<{ default: string }>)[]
  }
}

interface Image {
  flatten(): Image
  toColourspace(name: 'srgb'): Image
  removeAlpha(): Image
  resize(width: number, height: number, how: { fit: 'fill' }): Image
  raw(): Image
  toBuffer(): Promise<Uint8Array>
}
type Sharp = (bytes: Uint8Array) => Image

let opening: ReturnType<typeof open> | null = null

answerTasks((image: Uint8Array) => judge(image).catch((error): NsfwAnswer => ({ problem: String(error) })))

async function judge(bytes: Uint8Array): Promise<NsfwAnswer> {
  opening ??= open()
  const { tensors, model, sharp } = await opening
  const pixels = await sharp(bytes)
    .flatten()
    .toColourspace('srgb')
    .removeAlpha()
    .resize(seenSide, seenSide, { fit: 'fill' })
    .raw()
    .toBuffer()
  const input = tensors.tensor4d(
    Float32Array.from(pixels, value => value / 255),
    [1, seenSide, seenSide, 3],
  )
  const output = model.predict(input)
  try {
    const certainties = await output.data()
    return { adult: sexualClasses.reduce((sum, place) => sum + (certainties[place] ?? 0), 0) }
  } finally {
    input.dispose()
    output.dispose()
  }
}

async function open() {
  const { default: sharp } = await optionalPackage<{ default: Sharp }>('sharp', neededFor)
  const { MobileNetV2Model: files } = await optionalPackage<ModelFiles>('nsfwjs/models/mobilenet_v2', neededFor)
  const tensors = await optionalPackage<TensorFlow>('@tensorflow/tfjs-core', neededFor)
  const layers = await optionalPackage<Layers>('@tensorflow/tfjs-layers', neededFor)
  const wasmName = '@tensorflow/tfjs-backend-wasm'
  const wasm = await optionalPackage<{ setWasmPaths(folder: string): void }>(wasmName, neededFor)
  wasm.setWasmPaths(`${dirname(createRequire(import.meta.url).resolve(wasmName))}${sep}`)
  await tensors.setBackend('wasm')
  await tensors.ready()
  const { modelTopology, weightsManifest } = (await files.modelJson()).default
  const weights = await Promise.all(
    files.weightBundles.map(async load => Buffer.from((await load()).default, 'base64')),
  )
  const weightData = new Uint8Array(Buffer.concat(weights)).buffer
  const weightSpecs = weightsManifest.flatMap(each => each.weights)
  const model = await layers.loadLayersModel(tensors.io.fromMemory({ modelTopology, weightSpecs, weightData }))
  return { tensors, model, sharp }
}
