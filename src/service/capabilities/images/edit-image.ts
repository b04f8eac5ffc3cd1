import { imageEditFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { EditImageRequest, MultiEditImageRequest } from '#contract/operations/images.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import type { EditRequest } from '#engines/ports/image-engines.ts'
import type { Call } from '../../http/call.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { editModelName } from '../../models/image-model-of.ts'
import type { EditModel } from '../../models/model.ts'
import { qualitiesOf } from '../../models/model-record.ts'
import { editPrice } from './price-image.ts'
import { sellImage } from './sell-image.ts'
import { type ImageSource, sourceImage } from './source-image.ts'

/** One image (published contract §7.3). */
export const answerEditImage = (call: Call, body: EditImageRequest, service: Service) =>
  edit(call, { body, sources: [{ path: ['image'], input: body.image }] }, service)

/** Up to three (published contract §7.4). */
export function answerMultiEditImage(call: Call, body: MultiEditImageRequest, service: Service) {
  const sources = [body.images].flat().map((input, index): ImageSource => ({ path: ['images', index], input }))
  return edit(call, { body, sources }, service)
}

interface EditOrder {
  body: EditImageRequest | MultiEditImageRequest
  sources: readonly ImageSource[]
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
    pictures.push(await sourceImage(source, { model, fetcher: service.fetcher, signal: call.signal }))
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
  return sellImage(call, order, service)
}

type EditFields = Pick<EditImageRequest, 'prompt' | 'aspect_ratio' | 'resolution' | 'quality' | 'output_format'>

/** What an engine is asked for, beside its images. Throws `invalidRequest` with what the model's record allows. */
function checkedEdit(model: EditModel, body: EditFields): Omit<EditRequest, 'pictures'> {
  const { prompt, aspect_ratio: ratio, resolution, quality } = body
  if (prompt.length > model.promptCharacters) {
    const problem = `has ${prompt.length} characters; ${model.id} takes ${model.promptCharacters} at most`
    throw fieldError(['prompt'], problem)
  }
  const resolutions = Object.keys(model.price.resolutions ?? {})
  // `auto` is the contract's word for the image's own.
  const aspectRatio = ratio === 'auto' ? undefined : ratio
  requireOne(model, 'aspect_ratio', aspectRatio, model.aspectRatios)
  requireOne(model, 'resolution', resolution, resolutions)
  requireOne(model, 'quality', quality, qualitiesOf(model.price))
  return {
    prompt,
    format: formatOf(model, body.output_format),
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(resolution === undefined ? {} : { resolution }),
    ...(quality === undefined ? {} : { quality }),
  }
}

function requireOne({ id }: EditModel, field: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return
  if (allowed.length === 0) throw fieldError([field], `${id} does not take ${field}; leave it out`)
  throw fieldError([field], `is none of ${id}; allowed values: ${allowed.join(', ')}`)
}

function formatOf({ id, formats }: EditModel, asked: EditFields['output_format']): EditRequest['format'] {
  const format = asked === 'jpg' ? 'jpeg' : asked
  if (format === undefined) return formats[0]
  if (formats.includes(format)) return format
  throw fieldError(['output_format'], `${id} makes no ${format}; allowed values: ${formats.join(', ')}`)
}
