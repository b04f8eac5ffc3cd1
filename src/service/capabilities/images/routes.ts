import { inferenceFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import {
  type BackgroundRemoveImageRequest,
  backgroundRemoveImage,
  editImage,
  generateImage,
  listImageStyles,
  multiEditImage,
  simpleGenerateImage,
  upscaleImage,
} from '#contract/operations/images.ts'
import { type Call, json, route } from '../../http/route.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { answerEditImage, answerMultiEditImage, answerUpscaleImage } from './edit-image.ts'
import { answerGenerateImage, answerSimpleImage } from './generate-image.ts'
import { sellImage } from './sell-image.ts'
import { type ImageSource, sourceImage } from './source-image.ts'

export const generateImageRoute = route(generateImage, async (call, service) =>
  answerGenerateImage(call, call.body, service),
)

export const simpleGenerateImageRoute = route(simpleGenerateImage, async (call, service) =>
  answerSimpleImage(call, call.body, service),
)

export const editImageRoute = route(editImage, async (call, service) => answerEditImage(call, call.body, service))

export const multiEditImageRoute = route(multiEditImage, async (call, service) =>
  answerMultiEditImage(call, call.body, service),
)

export const upscaleImageRoute = route(upscaleImage, async (call, service) =>
  answerUpscaleImage(call, call.body, service),
)

export const backgroundRemoveImageRoute = route(backgroundRemoveImage, async (call, service) =>
  answerRemoveBackground(call, call.body, service),
)

export const listImageStylesRoute = route(listImageStyles, async (_call, { catalogue }) => {
  const styles = catalogue.models.flatMap(model => (model.type === 'image' ? model.styles : []))
  return json({ object: 'list', data: [...new Set(styles)].sort() })
})

/** Published contract §7.6. */
async function answerRemoveBackground(call: Call, body: BackgroundRemoveImageRequest, service: Service) {
  const model = service.catalogue.background(body.model)
  const source = sourceOf(body)
  const amount = model.price.perPictureMicroUsd
  await requireFunds(call, amount)
  const { fetcher, signal } = call
  const picture = await sourceImage(source, { model, fetcher, signal })
  const make = () => model.engine.removeBackground({ image: picture, engineModel: model.engineModel, signal })
  const order = {
    model,
    amount,
    sku: 'image.background',
    format: 'png' as const,
    failed: () => inferenceFailed(),
    make,
  }
  return sellImage(call, order, service)
}

function sourceOf({ image, image_url: url }: BackgroundRemoveImageRequest): ImageSource {
  if ((image === undefined) === (url === undefined)) {
    throw fieldError(['image'], 'send the picture as image or as image_url, and not as both')
  }
  if (image !== undefined) return { path: ['image'], input: image }
  if (!/^(https?:|data:)/i.test(url ?? '')) throw fieldError(['image_url'], 'must be an http(s) or data URL')
  return { path: ['image_url'], input: url ?? '' }
}
