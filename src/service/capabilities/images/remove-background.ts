import { inferenceFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { BackgroundRemoveImageRequest } from '#contract/operations/images.ts'
import type { Call } from '../../http/call.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { sellPicture } from './sell-picture.ts'
import { type PictureSource, sourcePicture } from './source-picture.ts'

/** Published contract §7.6. */
export async function answerRemoveBackground(call: Call, body: BackgroundRemoveImageRequest, service: Service) {
  const model = service.catalogue.background(body.model)
  const source = sourceOf(body)
  const amount = model.price.perPictureMicroUsd
  await requireFunds(call, amount)
  const { signal } = call
  const picture = await sourcePicture(source, { model, fetcher: service.fetcher, signal })
  const make = () => model.engine.removeBackground({ picture, engineModel: model.engineModel, signal })
  const order = {
    model,
    amount,
    sku: 'image.background',
    format: 'png' as const,
    failed: () => inferenceFailed(),
    make,
  }
  return sellPicture(call, order, service)
}

function sourceOf({ image, image_url: url }: BackgroundRemoveImageRequest): PictureSource {
  if ((image === undefined) === (url === undefined)) {
    throw fieldError(['image'], 'send the picture as image or as image_url, and not as both')
  }
  if (image !== undefined) return { path: ['image'], input: image }
  if (!/^(https?:|data:)/i.test(url ?? '')) throw fieldError(['image_url'], 'must be an http(s) or data URL')
  return { path: ['image_url'], input: url ?? '' }
}
