import { microUsd } from '#contract/money.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { encodePng } from '#engines/images/png.ts'
import type {
  BackgroundCall,
  BackgroundEngine,
  EditCall,
  EditEngine,
  UpscaleCall,
  UpscaleEngine,
} from '#engines/ports/media-engines.ts'
import type { ImageInputModel, UpscaleModel } from '#service/models/model.ts'

/** In the formats that an engine returns: enough to detect the type from the first bytes. */
export const madeBytes: Readonly<Record<ImageFormat, Buffer>> = {
  png: Buffer.from('89504e470d0a1a0a00', 'hex'),
  jpeg: Buffer.from('ffd8ffe000104a46', 'hex'),
  webp: Buffer.from('RIFF    WEBP'),
}

export type ImageCall = EditCall | UpscaleCall | BackgroundCall

/** Says what a test wants it to say, and remembers what it was asked. */
export class ScriptedImages implements EditEngine, UpscaleEngine, BackgroundEngine {
  readonly carries = () => true
  asked: ImageCall[] = []
  result: (call: ImageCall) => Promise<Buffer> | Buffer = asItIs

  edit = (call: EditCall) => this.#make(call)
  upscale = (call: UpscaleCall) => this.#make(call)
  removeBackground = (call: BackgroundCall) => this.#make(call)

  async #make(call: ImageCall): Promise<Buffer> {
    this.asked.push(call)
    return this.result(call)
  }
}

export const asItIs = (call: ImageCall): Buffer =>
  madeBytes['request' in call && 'format' in call.request ? call.request.format : 'png']

/** A real PNG of one colour. */
export const colouredPng = (width: number, height: number, colour = [200, 40, 40]): Promise<Buffer> =>
  encodePng({
    width,
    height,
    rgb: Buffer.from(
      Array(width * height)
        .fill(colour)
        .flat(),
    ),
  })

const shared = {
  createdAt: 1_795_305_600,
  traits: [],
  engineName: 'script',
  shortestSide: 8,
  mostPixels: 10_000,
  description: 'For a test.',
}

/** Models that know every choice there is. */
export const scriptedModels = (engine: ScriptedImages): ImageInputModel[] => [
  {
    ...shared,
    type: 'inpaint',
    id: 'editor',
    name: 'Editor',
    engineModel: 'inner-edit',
    promptCharacters: 100,
    formats: ['webp', 'png', 'jpeg'],
    aspectRatios: ['1:1', '16:9'],
    mostImages: 2,
    price: {
      perImageMicroUsd: microUsd(40_000),
      resolutions: { '1K': microUsd(40_000), '2K': microUsd(80_000) },
      quality: { '2K': { high: microUsd(120_000) } },
    },
    engine,
  },
  upscaler(engine, 'upscaler', 40_000),
  upscaler(engine, 'small-upscaler', 30_000),
  {
    ...shared,
    type: 'background',
    id: 'cutter',
    name: 'Cutter',
    engineModel: 'inner-cut',
    price: { perImageMicroUsd: microUsd(30_000) },
    engine,
  },
]

const upscaler = (engine: ScriptedImages, id: string, mostMadePixels: number): UpscaleModel => ({
  ...shared,
  type: 'upscale',
  id,
  name: 'Upscaler',
  engineModel: 'inner-upscale',
  mostMadePixels,
  hasEnhance: true,
  price: { twiceMicroUsd: microUsd(20_000), fourTimesMicroUsd: microUsd(80_000) },
  engine,
})
