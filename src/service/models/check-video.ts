import type { VideoQueueRequest, VideoQuoteRequest } from '#contract/video.ts'
import { promptCharacters } from './bounds.ts'
import { fieldError } from './field-error.ts'
import type { VideoModel } from './model.ts'
import { type Picture, readPicture } from './picture.ts'

/** Media that no engine here takes yet; each is refused by its name, never ignored. */
const untakenMedia = [
  'end_image_url',
  'audio_url',
  'video_url',
  'reference_image_urls',
  'reference_video_urls',
  'reference_audio_urls',
  'elements',
  'scene_image_urls',
] as const

/** Checks what a quote depends on against the model's record. Throws `invalidRequest` with the allowed values. */
export function checkVideoPrice(model: VideoModel, request: VideoQuoteRequest | VideoQueueRequest): void {
  const { durations, resolutions, aspect_ratios: ratios, audio, audio_configurable: configurable } = model.constraints
  checkChoice(model, 'duration', request.duration, durations)
  checkChoice(model, 'resolution', request.resolution, resolutions)
  checkChoice(model, 'aspect_ratio', request.aspect_ratio, ratios)
  if (request.upscale_factor !== undefined) throw untaken(model, 'upscale_factor')
  if (request.video_url !== undefined) throw untaken(model, 'video_url')
  if (request.audio !== undefined && !configurable && request.audio !== audio) {
    throw fieldError(
      ['audio'],
      `${model.id} always makes videos ${audio ? 'with' : 'without'} sound; allowed value: ${audio}`,
    )
  }
}

/** All of a queue request, and the picture in it read and checked. Throws `invalidRequest`. */
export function checkVideo(model: VideoModel, request: VideoQueueRequest): { image: Picture | null } {
  checkVideoPrice(model, request)
  checkPrompts(model, request)
  for (const field of untakenMedia) {
    const value = request[field]
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) throw untaken(model, field)
  }
  return { image: checkImage(model, request.image_url) }
}

function checkChoice(model: VideoModel, field: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return
  if (allowed.length === 0) throw fieldError([field], `This model does not support ${field}`)
  throw fieldError(
    [field],
    `${JSON.stringify(value)} is not available with ${model.id}; allowed values: ${allowed.join(', ')}`,
  )
}

function checkPrompts(model: VideoModel, request: VideoQueueRequest): void {
  const limit = model.constraints.prompt_character_limit ?? promptCharacters
  for (const field of ['prompt', 'negative_prompt'] as const) {
    const length = request[field]?.length ?? 0
    if (length > limit) throw fieldError([field], `has ${length} characters; ${model.id} takes ${limit} at most`)
  }
}

function checkImage(model: VideoModel, url: string | undefined): Picture | null {
  const { model_type: type } = model.constraints
  if (url === undefined) {
    if (type === 'image-to-video')
      throw fieldError(['image_url'], `${model.id} needs a picture: a data URL (data:image/png;base64,…)`)
    return null
  }
  if (type === 'text-to-video') throw untaken(model, 'image_url')
  const read = readPicture(url)
  if (!read.ok) throw fieldError(['image_url'], read.problem)
  return read.picture
}

const untaken = (model: VideoModel, field: string) =>
  fieldError([field], `${model.id} does not take ${field}; leave it out`)
