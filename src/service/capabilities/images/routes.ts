import { fieldError } from '#contract/errors/issues.ts'
import {
  backgroundRemoveImage,
  editImage,
  type GenerateImageRequest,
  generateImage,
  type ImageFormat,
  listImageStyles,
  multiEditImage,
  type SimpleImageRequest,
  simpleGenerateImage,
  upscaleImage,
} from '#contract/operations/images.ts'
import { type BytesReply, type Call, type JsonReply, json, route } from '../../http/route.ts'
import type { Service } from '../../http/service.ts'
import { requireCarried } from '../../models/check-model.ts'
import type { ImageModel } from '../../models/model.ts'
import { answerEditImage, answerMultiEditImage, answerRemoveBackground, answerUpscaleImage } from './edit-image.ts'
import { type Made, sellGeneratedImages } from './sell-image.ts'

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

/** Answers the native request (published contract §7.1). */
async function answerGenerateImage(call: Call, body: GenerateImageRequest, service: Service) {
  const model = service.catalogue.find('image', body.model)
  checkImage(model, body)
  const { prompt, negative_prompt: negativePrompt, width, height, seed, steps, cfg_scale: cfgScale } = body
  const request = {
    ...{ prompt, width, height, count: body.variants, format: body.format ?? model.formats[0] },
    safeMode: body.safe_mode,
    ...(negativePrompt ? { negativePrompt } : {}),
    ...(seed ? { seed } : {}),
    ...(steps === undefined || !hasSteps(model) ? {} : { steps }),
    ...(cfgScale === undefined ? {} : { cfgScale }),
    ...(body.style_preset === undefined ? {} : { style: body.style_preset }),
  }
  const replyOf = (made: Made) => (body.return_binary ? bytesOf(made) : jsonOf(call.requestId, made))
  return sellGeneratedImages(call, { model, request, replyOf }, service)
}

function bytesOf({ images: [bytes = Buffer.alloc(0)], format }: Made): BytesReply {
  return { kind: 'bytes', mimeType: `image/${format}`, bytes }
}

function jsonOf(requestId: string, { images, startedAtMs, endedAtMs }: Made): JsonReply {
  const total = endedAtMs - startedAtMs
  return json({
    id: `generate-image-${requestId}`,
    images: images.map(bytes => bytes.toString('base64')),
    timing: { inferenceDuration: total, inferencePreprocessingTime: 0, inferenceQueueTime: 0, total },
  })
}

const defaultSide = 1_024

/** Answers OpenAI's request (published contract §7.2). */
async function answerSimpleImage(call: Call, body: SimpleImageRequest, service: Service) {
  const model = service.catalogue.find('image', body.model)
  checkPrompt(model, 'prompt', body.prompt)
  checkFormat(model, 'output_format', body.output_format)
  const format = body.output_format ?? (model.formats.includes('png') ? 'png' : model.formats[0])
  const safeMode = body.moderation !== 'low'
  const request = { prompt: body.prompt, ...sidesOf(model, body.size), count: 1, format, safeMode }
  const asUrl = body.response_format === 'url'
  return sellGeneratedImages(
    call,
    {
      model,
      request,
      replyOf: ({ images, endedAtMs }) =>
        json({
          created: Math.floor(endedAtMs / 1000),
          data: images.map(bytes => {
            const base64 = bytes.toString('base64')
            return asUrl ? { url: `data:image/${format};base64,${base64}` } : { b64_json: base64 }
          }),
        }),
    },
    service,
  )
}

function sidesOf({ id, sideDivisor, longestSide }: ImageModel, size: SimpleImageRequest['size']) {
  const [width = defaultSide, height = defaultSide] = size && size !== 'auto' ? size.split('x').map(Number) : []
  if (Math.max(width, height) > longestSide || width % sideDivisor || height % sideDivisor) {
    throw fieldError(['size'], `${id} supports up to ${longestSide} pixels on each side; request a smaller size`)
  }
  return { width, height }
}

/** Choices that only other models have; each is refused by name if requested, never ignored. */
const untaken = ['aspect_ratio', 'resolution', 'quality'] as const

/** Checks a request against the model's record. Throws `invalidRequest` with the allowed values. */
function checkImage(model: ImageModel, request: GenerateImageRequest): void {
  checkPrompts(model, request)
  checkSides(model, request)
  checkFormat(model, 'format', request.format)
  for (const field of untaken) if (request[field] !== undefined) throw notTaken(model, field)
  for (const field of ['enable_web_search', 'embed_exif_metadata'] as const) {
    if (request[field]) throw notTaken(model, field)
  }
  if (hasSteps(model) && request.steps && request.steps > model.steps.max) {
    throw fieldError(['steps'], `${model.id} accepts ${model.steps.max} at most`)
  }
  // 0 is the contract's word for a seed chosen by the service.
  if (request.seed && !model.hasSeed) throw notTaken(model, 'seed')
  if (request.style_preset !== undefined && !model.styles.includes(request.style_preset)) {
    if (model.styles.length === 0) throw notTaken(model, 'style_preset')
    throw fieldError(['style_preset'], `is not supported by ${model.id}; allowed values: ${model.styles.join(', ')}`)
  }
  // The record covers all other choices, and no model offers a choice that its engine does not support.
  const variants = request.variants === 1 ? undefined : request.variants
  requireCarried(model, { variants, cfg_scale: request.cfg_scale })
  if (request.return_binary && request.variants > 1) {
    throw fieldError(['return_binary'], 'returns the bytes of one image; leave it out, or request one variant')
  }
}

/** Whether there is a choice; if not, the contract's `steps` is only a hint, which the engine does not get. */
const hasSteps = ({ steps }: ImageModel): boolean => steps.max > 1

function checkFormat(model: ImageModel, field: string, format: ImageFormat | null | undefined): void {
  if (!format || model.formats.includes(format)) return
  throw fieldError([field], `${model.id} does not support ${format}; allowed values: ${model.formats.join(', ')}`)
}

function checkPrompts(model: ImageModel, { prompt, negative_prompt: negative }: GenerateImageRequest): void {
  checkPrompt(model, 'prompt', prompt)
  if (!negative) return
  if (!model.hasNegativePrompt) throw notTaken(model, 'negative_prompt')
  checkPrompt(model, 'negative_prompt', negative)
}

function checkPrompt({ id, promptCharacters }: ImageModel, field: string, text: string): void {
  if (text.length <= promptCharacters) return
  throw fieldError([field], `has ${text.length} characters; ${id} accepts ${promptCharacters} at most`)
}

function checkSides({ id, sideDivisor }: ImageModel, request: GenerateImageRequest): void {
  for (const field of ['width', 'height'] as const) {
    if (request[field] % sideDivisor) throw fieldError([field], `must be a multiple of ${sideDivisor} for ${id}`)
  }
}

const notTaken = (model: ImageModel, field: string) =>
  fieldError([field], `${model.id} does not support ${field}; leave it out`)
