import { imageEditFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { EditImageRequest, MultiEditImageRequest } from '#contract/operations/images.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import type { Call } from '../../http/call.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { editModelName } from '../../models/image-model-of.ts'
import { checkedEdit } from './check-edit.ts'
import { editPrice } from './price-edited-image.ts'
import { sellPicture } from './sell-picture.ts'
import { type PictureSource, sourcePicture } from './source-picture.ts'

/** One picture (published contract §7.3). */
export const answerEditImage = (call: Call, body: EditImageRequest, service: Service) =>
  edit(call, { body, sources: [{ path: ['image'], input: body.image }] }, service)

/** Up to three (published contract §7.4). */
export function answerMultiEditImage(call: Call, body: MultiEditImageRequest, service: Service) {
  const sources = [body.images].flat().map((input, index): PictureSource => ({ path: ['images', index], input }))
  return edit(call, { body, sources }, service)
}

interface EditOrder {
  body: EditImageRequest | MultiEditImageRequest
  sources: readonly PictureSource[]
}

async function edit(call: Call, { body, sources }: EditOrder, service: Service) {
  const model = service.catalogue.edit(editModelName(body))
  const asked = checkedEdit(model, body)
  if (sources.length > model.mostPictures) {
    throw fieldError(['images'], `has ${sources.length} pictures; ${model.id} takes ${model.mostPictures} at most`)
  }
  const amount = editPrice(model, asked)
  await requireFunds(call, amount)
  const pictures: ImageFile[] = []
  // One after the other: each may be fetched, and all of them are in memory.
  for (const source of sources) {
    pictures.push(await sourcePicture(source, { model, fetcher: service.fetcher, signal: call.signal }))
  }
  const { engineModel } = model
  const make = () => model.engine.edit({ request: { ...asked, pictures }, engineModel, signal: call.signal })
  const { safe_mode: safeMode } = body
  const order = {
    model,
    amount,
    sku: 'image.edit',
    format: asked.format,
    safeMode,
    failed: () => imageEditFailed(),
    make,
  }
  return sellPicture(call, order, service)
}
