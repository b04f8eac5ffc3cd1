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

/** What a demonstration of an image is drawn from. */
export interface ImageDrawing {
  width: number
  height: number
  prompt: string
  /** What should not be there; empty where nothing is said. */
  negativePrompt: string
  style: string
  seed: number
  /** How far colours reach; 1 is the usual. */
  strength: number
  /** Which of the images of one request. */
  variant: number
}

/** What diffusion models take where nothing else is asked for. */
const usualCfgScale = 7

/** A task of the demonstrations' thread. Images are files, in and out. */
export type DemoImageTask =
  | { kind: 'draw'; drawing: ImageDrawing }
  | { kind: 'edit'; images: readonly Uint8Array[]; edit: Omit<EditRequest, 'images'> }
  | { kind: 'upscale'; image: Uint8Array; scale: number }
  | { kind: 'background'; image: Uint8Array }

/** The thread starts with the first task and keeps no process alive. */
export const demoImageWorker = (): ImageWorker<DemoImageTask> =>
  new ImageWorker(threadUrl('demo-image-thread', import.meta.url))

/**
 * Images of colours that follow from the words, with the words in them. Nothing is understood; it shows the path of a
 * request. The same prompt and seed give the same image.
 */
export class DemoImages implements ImageEngine {
  /** Nothing is drawn in steps. */
  readonly carries: Carries<ImageChoice> = (field, value) => (field === 'format' ? value === 'png' : field !== 'steps')
  readonly #worker: ImageWorker<DemoImageTask>

  /** A thread of its own when none is given. */
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

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}

/**
 * Edits, larger images and removed backgrounds by plain arithmetic, to show the path of a request. No model is behind
 * any of them.
 */
export class DemoImageEdits implements EditEngine, UpscaleEngine, BackgroundEngine {
  readonly carries = carriesOnly<EditChoice | UpscaleChoice>(
    ...(['prompt', 'images', 'aspect_ratio', 'resolution', 'quality', 'output_format', 'scale'] as const),
  )
  readonly #worker: ImageWorker<DemoImageTask>

  /** A thread of its own when none is given. */
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

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}
