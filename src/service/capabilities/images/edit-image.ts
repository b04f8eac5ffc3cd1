import { imageEditFailed, upscaleFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { EditImageRequest, MultiEditImageRequest, UpscaleImageRequest } from '#contract/operations/images.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import type { EditRequest, UpscaleRequest } from '#engines/ports/media-engines.ts'
import { editModelName } from '../../http/call-limits.ts'
import type { Call } from '../../http/route.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { requireCarried } from '../../models/carried-choices.ts'
import type { EditModel, UpscaleModel } from '../../models/model.ts'
import { qualitiesOf } from '../../models/model-record.ts'
import { editPrice, sellImage, upscalePrice } from './sell-image.ts'
import { type ImageSource, sourceImage, tooLargeImage } from './source-image.ts'

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
  if (sources.length > model.mostImages) {
    throw fieldError(['images'], `has ${sources.length} images; ${model.id} takes ${model.mostImages} at most`)
  }
  const amount = editPrice(model, asked)
  await requireFunds(call, amount)
  const pictures: ImageFile[] = []
  // One after the other: each may be fetched, and all of them are in memory.
  for (const source of sources) {
    pictures.push(await sourceImage(source, { model, fetcher: call.fetcher, signal: call.signal }))
  }
  const { engineModel } = model
  const make = () => model.engine.edit({ request: { ...asked, images: pictures }, engineModel, signal: call.signal })
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
function checkedEdit(model: EditModel, body: EditFields): Omit<EditRequest, 'images'> {
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
  throw fieldError([field], `is not supported by ${id}; allowed values: ${allowed.join(', ')}`)
}

function formatOf({ id, formats }: EditModel, asked: EditFields['output_format']): EditRequest['format'] {
  const format = asked === 'jpg' ? 'jpeg' : asked
  if (format === undefined) return formats[0]
  if (formats.includes(format)) return format
  throw fieldError(['output_format'], `${id} makes no ${format}; allowed values: ${formats.join(', ')}`)
}

/** What the published contract takes where a request does not say, or says null. */
const defaultCreativity = 0.5
const defaultReplication = 0.35

/** Published contract §7.5. */
export async function answerUpscaleImage(call: Call, body: UpscaleImageRequest, service: Service) {
  const model = service.catalogue.upscale(body.model)
  const { scale } = body
  const enhance = enhanceOf(model, body)
  const amount = upscalePrice(model, scale)
  await requireFunds(call, amount)
  const { fetcher } = call
  const picture = await sourceImage({ path: ['image'], input: body.image }, { model, fetcher, signal: call.signal })
  requireRoom(model, picture, scale)
  const request = { image: picture, scale, ...(enhance ? { enhance } : {}) }
  const make = () => model.engine.upscale({ request, engineModel: model.engineModel, signal: call.signal })
  const sku = scale <= 2 ? 'image.upscale.2x' : 'image.upscale.4x'
  return sellImage(call, { model, amount, sku, format: 'png', failed: () => upscaleFailed(), make }, service)
}

function enhanceOf(model: UpscaleModel, body: UpscaleImageRequest): UpscaleRequest['enhance'] {
  if (!body.enhance) {
    if (body.scale === 1) throw fieldError(['scale'], 'a scale of 1 is for enhance alone; ask for more than 1')
    return undefined
  }
  if (!model.hasEnhance) throw fieldError(['enhance'], `${model.id} does not take enhance; leave it out`)
  const creativity = otherThan(defaultCreativity, body.enhanceCreativity)
  const replication = otherThan(defaultReplication, body.replication)
  requireCarried(model, { enhanceCreativity: creativity, replication, enhancePrompt: body.enhancePrompt })
  return {
    creativity: body.enhanceCreativity ?? defaultCreativity,
    replication: body.replication ?? defaultReplication,
    ...(body.enhancePrompt ? { prompt: body.enhancePrompt } : {}),
  }
}

/** A default is nobody's choice. */
const otherThan = (usual: number, asked: number | null | undefined): number | undefined =>
  asked === usual ? undefined : (asked ?? undefined)

function requireRoom({ id, mostMadePixels }: UpscaleModel, { width, height }: ImageFile, scale: number): void {
  if (Math.round(width * scale) * Math.round(height * scale) <= mostMadePixels) return
  const problem = `is ${width} by ${height}; ${id} makes ${mostMadePixels} pixels in all at most: ask for a smaller scale`
  throw tooLargeImage(['image'], problem)
}
