import {
  corruptedImage,
  imageEditFailed,
  imageTooLarge,
  imageTooSmall,
  inferenceFailed,
  payloadTooLarge,
  upscaleFailed,
} from '#contract/errors/errors.ts'
import { fieldDetails, fieldError } from '#contract/errors/issues.ts'
import { uploadBytes } from '#contract/limits.ts'
import type {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  ImageInput,
  MultiEditImageRequest,
  UpscaleImageRequest,
} from '#contract/operations/images.ts'
import { imageSize, isWholeImage, typeOfBytes } from '#contract/wire/image-header.ts'
import { type Fetcher, FetchRefused } from '#engines/fetch/fetcher.ts'
import { fromBase64, type ImageFile } from '#engines/images/image-file.ts'
import type { EditRequest, UpscaleRequest } from '#engines/ports/media-engines.ts'
import { editModelName } from '../../http/call-limits.ts'
import type { Call } from '../../http/route.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { requireCarried } from '../../models/check-model.ts'
import type { EditModel, ImageInputModel, UpscaleModel } from '../../models/model.ts'
import { qualitiesOf } from '../../models/model-record.ts'
import { editPrice, sellImage, upscalePrice } from './sell-image.ts'

/** Edits one image (published contract §7.3). */
export const answerEditImage = (call: Call, body: EditImageRequest, service: Service) =>
  edit(call, { body, sources: [{ path: ['image'], input: body.image }] }, service)

/** Edits up to three images (published contract §7.4). */
export function answerMultiEditImage(call: Call, body: MultiEditImageRequest, service: Service) {
  const sources = [body.images].flat().map((input, index): ImageSource => ({ path: ['images', index], input }))
  return edit(call, { body, sources }, service)
}

interface EditOrder {
  body: EditImageRequest | MultiEditImageRequest
  sources: readonly ImageSource[]
}

async function edit(call: Call, { body, sources }: EditOrder, service: Service) {
  const model = service.catalogue.find('inpaint', editModelName(body))
  const asked = checkedEdit(model, body)
  if (sources.length > model.mostImages) {
    throw fieldError(['images'], `has ${sources.length} images; ${model.id} accepts ${model.mostImages} at most`)
  }
  const amount = editPrice(model, asked)
  await requireFunds(call, amount)
  const images: ImageFile[] = []
  // One after another: each may have to be fetched, and all of them stay in memory.
  for (const source of sources) {
    images.push(await sourceImage(source, { model, fetcher: call.fetcher, signal: call.signal }))
  }
  const { engineModel } = model
  const make = () => model.engine.edit({ request: { ...asked, images }, engineModel, signal: call.signal })
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

/**
 * Returns the request for the engine, without its images. Throws `invalidRequest` with what the model's record allows.
 */
function checkedEdit(model: EditModel, body: EditFields): Omit<EditRequest, 'images'> {
  const { prompt, aspect_ratio: ratio, resolution, quality } = body
  if (prompt.length > model.promptCharacters) {
    const problem = `has ${prompt.length} characters; ${model.id} accepts ${model.promptCharacters} at most`
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
  if (allowed.length === 0) throw fieldError([field], `${id} does not support ${field}; leave it out`)
  throw fieldError([field], `is not supported by ${id}; allowed values: ${allowed.join(', ')}`)
}

function formatOf({ id, formats }: EditModel, asked: EditFields['output_format']): EditRequest['format'] {
  const format = asked === 'jpg' ? 'jpeg' : asked
  if (format === undefined) return formats[0]
  if (formats.includes(format)) return format
  throw fieldError(['output_format'], `${id} does not support ${format}; allowed values: ${formats.join(', ')}`)
}

/** The published default if a request omits the member or sends null. */
const defaultCreativity = 0.5
const defaultReplication = 0.35

/** Published contract §7.5. */
export async function answerUpscaleImage(call: Call, body: UpscaleImageRequest, service: Service) {
  const model = service.catalogue.find('upscale', body.model)
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
    if (body.scale === 1) throw fieldError(['scale'], 'a scale of 1 is only for enhance; use a larger one')
    return undefined
  }
  if (!model.hasEnhance) throw fieldError(['enhance'], `${model.id} does not support enhance; leave it out`)
  const creativity = otherThan(defaultCreativity, body.enhanceCreativity)
  const replication = otherThan(defaultReplication, body.replication)
  requireCarried(model, { enhanceCreativity: creativity, replication, enhancePrompt: body.enhancePrompt })
  return {
    creativity: body.enhanceCreativity ?? defaultCreativity,
    replication: body.replication ?? defaultReplication,
    ...(body.enhancePrompt ? { prompt: body.enhancePrompt } : {}),
  }
}

/** A default value is not a choice of the caller. */
const otherThan = (usual: number, asked: number | null | undefined): number | undefined =>
  asked === usual ? undefined : (asked ?? undefined)

function requireRoom({ id, mostMadePixels }: UpscaleModel, { width, height }: ImageFile, scale: number): void {
  if (Math.round(width * scale) * Math.round(height * scale) <= mostMadePixels) return
  const problem = `is ${width} by ${height}; the result may have at most ${mostMadePixels} pixels in total with ${id}: use a smaller scale`
  throw tooLargeImage(['image'], problem)
}

/** Timeout of fetching an image that a request names by URL; its caller waits. */
export const imageFetchMs = 20_000

interface ImageSource {
  /** Where it is in the request. */
  path: readonly (string | number)[]
  input: ImageInput
}

interface SourceOptions {
  model: Pick<ImageInputModel, 'id' | 'shortestSide' | 'mostPixels'>
  fetcher: Fetcher
  signal: AbortSignal
}

/** Types that these models accept; an animation has no single image. */
const takenTypes = ['png', 'jpeg', 'webp'] as const

/**
 * Reads an image from a request, by its bytes and not by its claimed type. Throws `corruptedImage`, `imageTooSmall`,
 * `imageTooLarge`, `payloadTooLarge`, or `invalidRequest` that names the field.
 */
async function sourceImage(source: ImageSource, options: SourceOptions): Promise<ImageFile> {
  const bytes = await bytesOf(source, options)
  if (bytes.length > uploadBytes) throw tooManyBytes()
  const type = typeOfBytes(bytes)
  if (type === null || !isTaken(type)) throw corrupted(source.path, `must be one of ${takenTypes.join(', ')}`)
  const size = imageSize(type, bytes)
  if (!size || !isWholeImage(type, bytes)) {
    throw corrupted(source.path, 'is cut off or damaged')
  }
  checkSize(source.path, size, options.model)
  return { type, bytes, ...size }
}

const isTaken = (type: string): boolean => takenTypes.some(each => each === type)

function checkSize(
  path: ImageSource['path'],
  { width, height }: { width: number; height: number },
  { id, shortestSide, mostPixels }: SourceOptions['model'],
): void {
  const is = `is ${width} by ${height}; ${id} accepts`
  if (Math.min(width, height) < shortestSide) {
    const problem = fieldDetails(path, `${is} at least ${shortestSide} pixels on each side`)
    throw imageTooSmall({ error: 'Image dimensions are too small', ...problem })
  }
  if (width * height > mostPixels) {
    throw tooLargeImage(path, `${is} at most ${mostPixels} pixels in total`)
  }
}

async function bytesOf({ path, input }: ImageSource, { fetcher, signal }: SourceOptions): Promise<Buffer> {
  if (typeof input !== 'string') {
    if (input.size > uploadBytes) throw tooManyBytes()
    return Buffer.from(await input.arrayBuffer())
  }
  if (/^https?:/i.test(input)) return fetched(path, { url: input, fetcher, signal })
  const head = /^data:[\w.+/-]{0,100};base64,/i.exec(input)?.[0] ?? ''
  // Line breaks are allowed, because some programs write base64 as for mail.
  const bytes = fromBase64(input.slice(head.length).replaceAll(/[\r\n]/g, ''))
  if (!bytes) throw fieldError(path, 'must be base64, a data URL with base64, or an http(s) URL')
  return bytes
}

async function fetched(
  path: ImageSource['path'],
  { url, fetcher, signal }: Pick<SourceOptions, 'fetcher' | 'signal'> & { url: string },
): Promise<Buffer> {
  try {
    const order = { url, mostBytes: uploadBytes, timeoutMs: imageFetchMs, accept: 'image/*', signal }
    return (await fetcher.fetch(order)).bytes
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error
    if (error.reason === 'too_large') throw tooManyBytes()
    throw fieldError(path, error.reason === 'address' ? error.message : `could not be fetched: ${error.message}`)
  }
}

/** A 422 whose `details` say what is allowed. */
const tooLargeImage = (path: ImageSource['path'], message: string) =>
  imageTooLarge({ error: 'Image dimensions exceed the maximum allowed.', ...fieldDetails(path, message) })

const corrupted = (path: ImageSource['path'], message: string) =>
  corruptedImage({ error: 'The image file is corrupted or unreadable', ...fieldDetails(path, message) })

const tooManyBytes = () =>
  payloadTooLarge({
    code: 'PAYLOAD_TOO_LARGE',
    error: `The request payload is too large. Please reduce the size of your request. An image may have at most ${uploadBytes} bytes.`,
  })

/** Published contract §7.6. */
export async function answerRemoveBackground(call: Call, body: BackgroundRemoveImageRequest, service: Service) {
  const model = service.catalogue.find('background', body.model)
  const source = sourceOf(body)
  const amount = model.price.perImageMicroUsd
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
    throw fieldError(['image'], 'send the image as image or as image_url, not both')
  }
  if (image !== undefined) return { path: ['image'], input: image }
  if (!/^(https?:|data:)/i.test(url ?? '')) throw fieldError(['image_url'], 'must be an http(s) or data URL')
  return { path: ['image_url'], input: url ?? '' }
}
