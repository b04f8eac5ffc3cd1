import {
  type BackgroundRemoveImageRequest,
  type EditImageRequest,
  GenerateImageRequest,
  SimpleImageRequest,
  type UpscaleImageRequest,
} from '#contract/operations/images.ts'
import { mostOfAsked, shownModel } from './asked-models.ts'
import { backgroundBound, editBound, upscaleBound } from './edit-bound.ts'
import { type ImageRequest, imageBound } from './image-bound.ts'
import type { Pricer } from './priced-call.ts'

const pictures =
  (request: typeof GenerateImageRequest | typeof SimpleImageRequest): Pricer =>
  async ({ models }, call) => {
    const body = call as ImageRequest
    return {
      what: `Pictures by ${shownModel(body.model)}`,
      amountMicroUsd: await mostOfAsked(models, 'image', body.model, (record, all) =>
        imageBound(record, body, request, all),
      ),
    }
  }

export const priceOwnPictures = pictures(GenerateImageRequest)
export const priceSimplePictures = pictures(SimpleImageRequest)

export const priceEdit: Pricer = async ({ models }, call) => {
  const { model: newer, modelId: older } = call as Partial<EditImageRequest>
  // The older member counts where the newer says nothing.
  const name = newer === undefined || newer === 'default' ? (older ?? newer) : newer
  return {
    what: `An edited picture by ${shownModel(name)}`,
    amountMicroUsd: await mostOfAsked(models, 'inpaint', name, (record, all) => editBound(record, call as object, all)),
  }
}

export const priceUpscale: Pricer = async ({ models }, call) => {
  const body = call as Partial<UpscaleImageRequest>
  return {
    what: `A larger picture by ${shownModel(body.model)}${atTheDearerPrice(Number(body.scale))}`,
    amountMicroUsd: await mostOfAsked(models, 'upscale', body.model, (record, all) => upscaleBound(record, body, all)),
  }
}

/** Between two and four times the size the price is that of four. */
const atTheDearerPrice = (scale: number): string =>
  scale > 2 && scale < 4 ? `, ${scale} times the size at the price of 4` : ''

export const priceBackground: Pricer = async ({ models }, call) => {
  const body = call as Partial<BackgroundRemoveImageRequest>
  return {
    what: `A picture without its background by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'background', body.model, (record, all) =>
      backgroundBound(record, body, all),
    ),
  }
}
