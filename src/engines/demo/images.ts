import { threadUrl } from '#host/workers/thread-entry.ts'
import { ImageWorker } from '../images/raster.ts'
import { type Carries, carriesOnly, type EditChoice, type ImageChoice, type UpscaleChoice } from '../ports/engine.ts'
import type {
  BackgroundCall,
  BackgroundEngine,
  EditCall,
  EditEngine,
  EditRequest,
  ImageCall,
  ImageEngine,
  UpscaleCall,
  UpscaleEngine,
} from '../ports/media-engines.ts'

/** The input of a demonstration image. */
export interface ImageDrawing {
  width: number
  height: number
  prompt: string
  /** What to leave out; empty if nothing is given. */
  negativePrompt: string
  style: string
  seed: number
  /** Range of colours; 1 is the default. */
  strength: number
  /** Index of the image within its request. */
  variant: number
}

/** The usual default of diffusion models. */
const usualCfgScale = 7

/** A task for the demonstrations' thread. Images are passed as files. */
export type DemoImageTask =
  | { kind: 'draw'; drawing: ImageDrawing }
  | { kind: 'edit'; images: readonly Uint8Array[]; edit: Omit<EditRequest, 'images'> }
  | { kind: 'upscale'; image: Uint8Array; scale: number }
  | { kind: 'background'; image: Uint8Array }

/** Creates the worker. Its thread starts with the first task and does not keep the process alive. */
export const demoImageWorker = (): ImageWorker<DemoImageTask> =>
  new ImageWorker(threadUrl('demo-image-thread', import.meta.url))

/**
 * Draws images in colours derived from the words, with the words in them. It understands nothing, and only demonstrates
 * a request. The same prompt and seed give the same image.
 */
export class DemoImages implements ImageEngine {
  /** Nothing is drawn in steps. */
  readonly carries: Carries<ImageChoice> = (field, value) => (field === 'format' ? value === 'png' : field !== 'steps')
  readonly #worker: ImageWorker<DemoImageTask>

  /** Creates its own thread if none is given. */
  constructor(worker = demoImageWorker()) {
    this.#worker = worker
  }

  async generate({ request, signal }: ImageCall): Promise<Buffer[]> {
    const {
      width,
      height,
      prompt,
      negativePrompt = '',
      style = '',
      seed = 0,
      cfgScale = usualCfgScale,
      count,
    } = request
    const images: Buffer[] = []
    for (let variant = 0; variant < count; variant++) {
      const drawing = {
        width,
        height,
        prompt,
        negativePrompt,
        style,
        seed,
        strength: cfgScale / usualCfgScale,
        variant,
      }
      images.push(await this.#worker.run({ kind: 'draw', drawing }, signal))
    }
    return images
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}

/** Edits, upscales and removes backgrounds with simple arithmetic instead of a model, to demonstrate the requests. */
export class DemoImageEdits implements EditEngine, UpscaleEngine, BackgroundEngine {
  readonly carries = carriesOnly<EditChoice | UpscaleChoice>(
    ...(['prompt', 'images', 'aspect_ratio', 'resolution', 'quality', 'output_format', 'scale'] as const),
  )
  readonly #worker: ImageWorker<DemoImageTask>

  /** Creates its own thread if none is given. */
  constructor(worker = demoImageWorker()) {
    this.#worker = worker
  }

  async edit({ request, signal }: EditCall): Promise<Buffer> {
    const { images, ...edit } = request
    return this.#worker.run({ kind: 'edit', images: images.map(({ bytes }) => bytes), edit }, signal)
  }

  async upscale({ request: { image, scale }, signal }: UpscaleCall): Promise<Buffer> {
    return this.#worker.run({ kind: 'upscale', image: image.bytes, scale }, signal)
  }

  async removeBackground({ image, signal }: BackgroundCall): Promise<Buffer> {
    return this.#worker.run({ kind: 'background', image: image.bytes }, signal)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}
