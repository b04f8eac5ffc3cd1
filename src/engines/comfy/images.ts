import { inferenceFailed } from '#contract/errors/errors.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import { type ImageFile, imageFileBytes } from '../images/image-file.ts'
import { ImageWorker } from '../images/raster.ts'
import type { Carries, EditChoice, ImageChoice, UpscaleChoice } from '../ports/engine.ts'
import type {
  BackgroundCall,
  BackgroundEngine,
  EditCall,
  EditEngine,
  ImageCall,
  ImageEngine,
  UpscaleCall,
  UpscaleEngine,
} from '../ports/media-engines.ts'
import { ComfyServer, comfyPollMs, comfyRunMs, runWorkflow } from './server.ts'
import { type Placeholder, randomSeed, Workflow, type WorkflowValues } from './workflow.ts'

export interface ComfyOptions extends UpstreamOptions {
  /** A workflow as ComfyUI exports it for its API, with placeholders such as `{{prompt}}` in its strings. */
  workflow: unknown
  /** How often to poll the server while also listening to it. */
  pollMs?: number
}

interface Work {
  values: WorkflowValues
  images: readonly ImageFile[]
  format: ImageFormat
  most: number
  signal: AbortSignal
}

/** A task for the thread. */
export interface ConvertTask {
  image: Uint8Array
  format: ImageFormat
}

export const convertWorker = (): ImageWorker<ConvertTask> =>
  new ImageWorker(threadUrl('convert-thread', import.meta.url))

const imageNames = ['image', 'image_2', 'image_3'] as const

/** Which placeholder takes each field of a request. */
const placeOf: Record<
  Exclude<ImageChoice | EditChoice | UpscaleChoice, 'images' | 'format' | 'output_format'>,
  Placeholder
> = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  width: 'width',
  height: 'height',
  variants: 'count',
  seed: 'seed',
  steps: 'steps',
  cfg_scale: 'cfg_scale',
  style_preset: 'style',
  aspect_ratio: 'aspect_ratio',
  resolution: 'resolution',
  quality: 'quality',
  scale: 'scale',
  enhance: 'creativity',
  enhanceCreativity: 'creativity',
  replication: 'replication',
  enhancePrompt: 'prompt',
}

/** Runs image generation, edits, upscaling and background removal as a workflow on a ComfyUI server. */
export class ComfyImages implements ImageEngine, EditEngine, UpscaleEngine, BackgroundEngine {
  readonly carries: Carries<ImageChoice | EditChoice | UpscaleChoice> = (field, value) => {
    if (field === 'format' || field === 'output_format') return true
    const places = this.#workflow.names
    if (field === 'images') return imageNames.slice(0, Number(value)).every(name => places.has(name))
    return places.has(placeOf[field])
  }
  readonly #server: ComfyServer
  readonly #workflow: Workflow
  readonly #pollMs: number
  readonly #worker = convertWorker()

  /** Throws a sentence if the address, the key or the workflow is invalid. */
  constructor(options: ComfyOptions) {
    this.#workflow = new Workflow(options.workflow)
    this.#server = new ComfyServer(options)
    this.#pollMs = options.pollMs ?? comfyPollMs
  }

  async generate({ request, engineModel, signal }: ImageCall): Promise<Buffer[]> {
    const { prompt, width, height, count, format, negativePrompt = '', seed = randomSeed() } = request
    const values = {
      ...{ prompt, negative_prompt: negativePrompt, width, height, count, seed, model: engineModel },
      ...(request.steps === undefined ? {} : { steps: request.steps }),
      ...(request.cfgScale === undefined ? {} : { cfg_scale: request.cfgScale }),
      ...(request.style === undefined ? {} : { style: request.style }),
    }
    return this.#make({ values, images: [], format, most: count, signal })
  }

  async edit({ request, engineModel, signal }: EditCall): Promise<Buffer> {
    const { prompt, images, format, aspectRatio, resolution, quality } = request
    const values = {
      ...{ prompt, negative_prompt: '', seed: randomSeed(), model: engineModel },
      ...sizeOf(images),
      ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
      ...(resolution === undefined ? {} : { resolution }),
      ...(quality === undefined ? {} : { quality }),
    }
    return one(await this.#make({ values, images, format, most: 1, signal }))
  }

  async upscale({ request: { image, scale, enhance }, engineModel, signal }: UpscaleCall): Promise<Buffer> {
    const values = {
      ...{ scale, seed: randomSeed(), model: engineModel, prompt: enhance?.prompt ?? '', negative_prompt: '' },
      ...sizeOf([image]),
      creativity: enhance?.creativity ?? 0,
      replication: enhance?.replication ?? 1,
    }
    return one(await this.#make({ values, images: [image], format: 'png', most: 1, signal }))
  }

  async removeBackground({ image, engineModel, signal }: BackgroundCall): Promise<Buffer> {
    const values = { model: engineModel, seed: randomSeed(), ...sizeOf([image]) }
    return one(await this.#make({ values, images: [image], format: 'png', most: 1, signal }))
  }

  /** Closes all connections and the thread. */
  async close(): Promise<void> {
    await Promise.all([this.#server.close(), this.#worker.close()])
  }

  async #make({ values, images, format, most, signal: caller }: Work): Promise<Buffer[]> {
    const signal = AbortSignal.any([caller, AbortSignal.timeout(comfyRunMs)])
    try {
      const workflow = this.#workflow.filled({ ...values, ...(await this.#uploaded(images, signal)) })
      const files = await runWorkflow({ server: this.#server, workflow, pollMs: this.#pollMs, signal })
      const made: Buffer[] = []
      for (const file of files.slice(0, most)) {
        const bytes = await this.#server.bytes(file, imageFileBytes, signal)
        made.push(typeOfBytes(bytes) === format ? bytes : await this.#worker.run({ image: bytes, format }, signal))
      }
      return made
    } catch (error) {
      throw this.#server.known(error, caller)
    }
  }

  /**
   * Every image of a request needs a placeholder in the workflow; otherwise the caller would pay for one that is not
   * used.
   */
  async #uploaded(images: readonly ImageFile[], signal: AbortSignal): Promise<WorkflowValues> {
    const values: Partial<Record<(typeof imageNames)[number], string>> = {}
    for (const [index, image] of images.entries()) {
      const name = imageNames[index]
      if (!name || !this.#workflow.names.has(name)) throw new Error('The workflow has too few image inputs.')
      const { type, bytes } = image
      values[name] = await this.#server.upload({ extension: type, mimeType: `image/${type}`, bytes }, signal)
    }
    return values
  }
}

function sizeOf([image]: readonly ImageFile[]): Pick<WorkflowValues, 'width' | 'height'> {
  return image ? { width: image.width, height: image.height } : {}
}

function one([image]: readonly Buffer[]): Buffer {
  if (!image) throw inferenceFailed()
  return image
}
