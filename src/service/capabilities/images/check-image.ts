import { fieldError } from '#contract/errors/issues.ts'
import type { GenerateImageRequest, ImageFormat } from '#contract/operations/images.ts'
import { requireCarried } from '../../models/carried.ts'
import type { ImageModel } from '../../models/model.ts'

/** Choices of other models; each is refused by its name where it is asked for, never ignored. */
const untaken = ['aspect_ratio', 'resolution', 'quality'] as const

/** Checks a request against the model's record. Throws `invalidRequest` with the allowed values. */
export function checkImage(model: ImageModel, request: GenerateImageRequest): void {
  checkPrompts(model, request)
  checkSides(model, request)
  checkFormat(model, 'format', request.format)
  for (const field of untaken) if (request[field] !== undefined) throw notTaken(model, field)
  for (const field of ['enable_web_search', 'embed_exif_metadata'] as const) {
    if (request[field]) throw notTaken(model, field)
  }
  if (hasSteps(model) && request.steps && request.steps > model.steps.max) {
    throw fieldError(['steps'], `${model.id} takes ${model.steps.max} at most`)
  }
  // 0 is the contract's word for a seed of the service's own choice.
  if (request.seed && !model.hasSeed) throw notTaken(model, 'seed')
  if (request.style_preset !== undefined && !model.styles.includes(request.style_preset)) {
    if (model.styles.length === 0) throw notTaken(model, 'style_preset')
    throw fieldError(['style_preset'], `is none of ${model.id}; allowed values: ${model.styles.join(', ')}`)
  }
  // The record tells of all other choices, and no model offers what its engine cannot carry.
  const variants = request.variants === 1 ? undefined : request.variants
  requireCarried(model, { variants, cfg_scale: request.cfg_scale })
  if (request.return_binary && request.variants > 1) {
    throw fieldError(['return_binary'], 'gives the bytes of one picture; leave it out, or ask for one variant')
  }
}

/** Whether there is a choice; elsewhere the contract's `steps` is a hint, which no engine is given. */
export const hasSteps = ({ steps }: ImageModel): boolean => steps.max > 1

export function checkFormat(model: ImageModel, field: string, format: ImageFormat | null | undefined): void {
  if (!format || model.formats.includes(format)) return
  throw fieldError([field], `${model.id} makes no ${format}; allowed values: ${model.formats.join(', ')}`)
}

function checkPrompts(model: ImageModel, { prompt, negative_prompt: negative }: GenerateImageRequest): void {
  checkPrompt(model, 'prompt', prompt)
  if (!negative) return
  if (!model.hasNegativePrompt) throw notTaken(model, 'negative_prompt')
  checkPrompt(model, 'negative_prompt', negative)
}

export function checkPrompt({ id, promptCharacters }: ImageModel, field: string, text: string): void {
  if (text.length <= promptCharacters) return
  throw fieldError([field], `has ${text.length} characters; ${id} takes ${promptCharacters} at most`)
}

function checkSides({ id, sideDivisor }: ImageModel, request: GenerateImageRequest): void {
  for (const field of ['width', 'height'] as const) {
    if (request[field] % sideDivisor) throw fieldError([field], `must be a multiple of ${sideDivisor} for ${id}`)
  }
}

const notTaken = (model: ImageModel, field: string) =>
  fieldError([field], `${model.id} does not take ${field}; leave it out`)
