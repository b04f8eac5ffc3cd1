import type { MicroUsd } from '#contract/money.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import type { BackgroundEngine, EditEngine, EditRequest, UpscaleEngine } from '#engines/ports/image-engines.ts'
import type { AnyModel, Model } from './model.ts'

/** A model whose work begins with a picture. */
export type PictureModel = EditModel | UpscaleModel | BackgroundModel

interface TakesPictures extends AnyModel {
  /** Shortest side of a picture that it takes. */
  shortestSide: number
  /** Width times height of a picture that it takes. */
  mostPixels: number
}

type Quality = NonNullable<EditRequest['quality']>

export interface EditModel extends TakesPictures {
  /** The published word for models that change pictures. */
  type: 'inpaint'
  /** Of a prompt. */
  promptCharacters: number
  /** The first is what a request gets that asks for none. */
  formats: readonly [ImageFormat, ...ImageFormat[]]
  /** Empty where a picture always keeps its own. */
  aspectRatios: readonly string[]
  /** Pictures of one request, up to three. */
  mostPictures: number
  price: EditPrice
  engine: EditEngine
}

export interface EditPrice {
  perPictureMicroUsd: MicroUsd
  /** By resolution, where a request may choose one; the first is what it gets otherwise. */
  resolutions?: Readonly<Record<string, MicroUsd>>
  /** By resolution and quality, where a request may choose that too. */
  quality?: Readonly<Record<string, Readonly<Partial<Record<Quality, MicroUsd>>>>>
}

export interface UpscaleModel extends TakesPictures {
  type: 'upscale'
  /** Width times height of what it makes. */
  mostMadePixels: number
  /** Whether it can enhance, and so be asked to keep the size. */
  hasEnhance: boolean
  price: {
    /** For a scale of 2 and less. */
    twiceMicroUsd: MicroUsd
    /** For a larger one. */
    fourTimesMicroUsd: MicroUsd
  }
  engine: UpscaleEngine
}

/** Farebox's own type: the published contract has none for what removes backgrounds. */
export interface BackgroundModel extends TakesPictures {
  type: 'background'
  price: { perPictureMicroUsd: MicroUsd }
  engine: BackgroundEngine
}

export const isPictureModel = (model: Model): model is PictureModel =>
  model.type === 'inpaint' || model.type === 'upscale' || model.type === 'background'

/** Throws a plain sentence where a model contradicts itself. */
export function checkPictureModel(model: PictureModel): void {
  if (pricesOf(model).some(each => each < 0n)) throw new Error(`Model ${model.id} has a price below zero.`)
  if (!(model.shortestSide >= 1 && model.mostPixels >= model.shortestSide ** 2)) {
    throw new Error(`Model ${model.id} must take a picture of some size.`)
  }
  if (model.type === 'inpaint' && !(model.mostPictures >= 1 && model.mostPictures <= 3)) {
    throw new Error(`Model ${model.id} must take one to three pictures.`)
  }
}

function pricesOf(model: PictureModel): readonly MicroUsd[] {
  switch (model.type) {
    case 'inpaint': {
      const { perPictureMicroUsd, resolutions = {}, quality = {} } = model.price
      return [perPictureMicroUsd, ...Object.values(resolutions), ...Object.values(quality).flatMap(Object.values)]
    }
    case 'upscale':
      return [model.price.twiceMicroUsd, model.price.fourTimesMicroUsd]
    case 'background':
      return [model.price.perPictureMicroUsd]
  }
}
