/** Entry point of the thread that detects faces. A task is an image file. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { optionalPackage } from '#host/packages.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'

/** Longer side of an image for detection. */
const seenPixels = 1_280

/** Frames taken from one animation, spread over its length. */
const animationImages = 12

/** Minimum score of a face: low, because asking for consent without need costs only a click. */
const leastScore = 0.25

export type FaceAnswer = { hasFace: boolean } | { problem: string }

/** The part of `@vladmandic/human` that we use. */
interface Human {
  load(): Promise<void>
  detect(tensor: unknown): Promise<{ face: { score: number }[] }>
  tf: { tensor4d(values: Uint8Array, shape: number[], type: 'int32'): unknown; dispose(tensor: unknown): void }
}

/** The part of `sharp` that we use. */
interface Image {
  metadata(): Promise<{ pages?: number }>
  rotate(): Image
  flatten(): Image
  toColourspace(name: 'srgb'): Image
  removeAlpha(): Image
  resize(width: number, height: number, how: { fit: 'inside' }): Image
  raw(): Image
  toBuffer(how: { resolveWithObject: true }): Promise<{ data: Uint8Array; info: Size }>
}
type Sharp = (bytes: Uint8Array, how?: { page: number }) => Image

interface Size {
  width: number
  height: number
}

let opening: Promise<{ human: Human; sharp: Sharp }> | null = null

answerTasks((image: Uint8Array) => look(image).catch((error): FaceAnswer => ({ problem: String(error) })))

async function look(bytes: Uint8Array): Promise<FaceAnswer> {
  opening ??= open()
  const { human, sharp } = await opening
  const { pages = 1 } = await sharp(bytes).metadata()
  for (const page of spread(pages, animationImages)) {
    const { data, info } = await sharp(bytes, { page })
      .rotate()
      .toColourspace('srgb')
      .removeAlpha()
      .resize(seenPixels, seenPixels, { fit: 'inside' })
      .raw()
      .toBuffer({ resolveWithObject: true })
    for (const view of viewsOf(info)) {
      if (await showsFace(human, cut(data, info, view), view)) return { hasFace: true }
    }
  }
  return { hasFace: false }
}

interface View extends Size {
  left: number
  top: number
}

/** The whole image and its overlapping quarters: the model sees 256 pixels, in which a face in a crowd is lost. */
function viewsOf({ width, height }: Size): View[] {
  const [across, down] = [Math.ceil(width * 0.6), Math.ceil(height * 0.6)]
  const corners = [0, width - across].flatMap(left => [0, height - down].map(top => ({ left, top })))
  const whole = { left: 0, top: 0, width, height }
  return Math.min(width, height) < 256
    ? [whole]
    : [whole, ...corners.map(at => ({ ...at, width: across, height: down }))]
}

function cut(data: Uint8Array, { width }: Size, view: View): Uint8Array {
  const rows = new Uint8Array(view.width * view.height * 3)
  for (let row = 0; row < view.height; row++) {
    const from = ((view.top + row) * width + view.left) * 3
    rows.set(data.subarray(from, from + view.width * 3), row * view.width * 3)
  }
  return rows
}

async function showsFace(human: Human, pixels: Uint8Array, { width, height }: Size): Promise<boolean> {
  const tensor = human.tf.tensor4d(pixels, [1, height, width, 3], 'int32')
  try {
    return (await human.detect(tensor)).face.some(({ score }) => score >= leastScore)
  } finally {
    human.tf.dispose(tensor)
  }
}

/** Returns at most this many of `count` positions, from the first to the last. */
function spread(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, place) => place)
  return Array.from({ length: most }, (_, place) => Math.round((place * (count - 1)) / (most - 1)))
}

async function open() {
  const { default: sharp } = await optionalPackage<{ default: Sharp }>('sharp', 'Face detection')
  const require = createRequire(import.meta.url)
  const folder = join(folderOf(require, '@vladmandic/human'), '..')
  const wasmPath = `${join(folderOf(require, '@tensorflow/tfjs-backend-wasm'))}/`
  readFilesByFetch()
  // Its WebAssembly build is not an exported entry point.
  const path = join(folder, 'dist', 'human.node-wasm.js')
  const module = (await import(pathToFileURL(path).href)) as { default: { default: new (config: object) => Human } }
  const off = { enabled: false }
  const human = new module.default.default({
    backend: 'wasm',
    wasmPath,
    modelBasePath: pathToFileURL(`${join(folder, 'models')}/`).href,
    debug: false,
    filter: off,
    face: {
      enabled: true,
      detector: { rotation: false, maxDetected: 20, minConfidence: leastScore },
      ...{ mesh: off, iris: off, emotion: off, description: off, antispoof: off, liveness: off },
    },
    ...{ body: off, hand: off, object: off, segmentation: off, gesture: off },
  })
  await human.load()
  return { human, sharp }
}

function folderOf(require: NodeJS.Require, name: string): string {
  try {
    return dirname(require.resolve(name))
  } catch (error) {
    throw new Error(`Face detection needs the package ${name}, which is not installed. Run \`npm install ${name}\`.`, {
      cause: error,
    })
  }
}

/** The library loads its models with `fetch`, which in Node is only for the web. This thread fetches nothing else. */
function readFilesByFetch(): void {
  globalThis.fetch = async input => new Response(await readFile(new URL(String(input))))
}
