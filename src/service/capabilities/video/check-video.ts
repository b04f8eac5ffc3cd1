import { fieldError } from '#contract/errors/issues.ts'
import {
  isNoPrompt,
  type VideoMediaField,
  type VideoQueueRequest,
  type VideoQuoteRequest,
  videoMediaFields,
} from '#contract/operations/video.ts'
import { requireCarried } from '../../models/carried-choices.ts'
import { isUpscaler, promptCharacters, takenMedia, upscaleFactor, type VideoModel } from '../../models/model.ts'

/** In a quote these are members that its own schema does not know. */
type Chosen = Readonly<Partial<Record<VideoMediaField | 'negative_prompt', unknown>>>

/** Checks what a quote depends on against the model's record. Throws `invalidRequest` with the allowed values. */
export function checkVideoPrice(model: VideoModel, request: VideoQuoteRequest | VideoQueueRequest): void {
  const { durations, resolutions, aspect_ratios: ratios } = model.constraints
  if (isUpscaler(model)) {
    checkUpscale(model, request)
  } else {
    checkChoice(model, 'duration', request.duration, durations)
    checkChoice(model, 'resolution', request.resolution, resolutions)
    if (request.upscale_factor !== undefined) throw untaken(model, 'upscale_factor')
  }
  checkChoice(model, 'aspect_ratio', request.aspect_ratio, ratios)
  checkAudio(model, request.audio)
  checkChosen(model, request)
}

/** What a queue request may name beside that; a quote that names it too is refused alike. */
function checkChosen(model: VideoModel, request: Chosen): void {
  const taken = takenMedia(model)
  for (const field of videoMediaFields) {
    if (!taken.includes(field) && isGiven(request[field])) throw untaken(model, field)
  }
  const media = Object.fromEntries(videoMediaFields.map(field => [field, request[field]]))
  // The record tells of all other choices, and no model offers what its engine cannot carry.
  requireCarried(model, { negative_prompt: request.negative_prompt, ...media })
}

/** All of a queue request that can be told without reading its media. Throws `invalidRequest`. */
export function checkVideo(model: VideoModel, request: VideoQueueRequest): void {
  checkVideoPrice(model, request)
  checkPrompts(model, request)
  if (model.constraints.model_type === 'image-to-video' && request.image_url === undefined) {
    throw fieldError(['image_url'], `${model.id} needs an image: an address or a data URL (data:image/png;base64,…)`)
  }
}

/** Its duration, whichever it is, is not looked at: the video has one (published contract §4.2). */
function checkUpscale(model: VideoModel, request: VideoQuoteRequest | VideoQueueRequest): void {
  const { upscale_factors: factors = [] } = model.constraints
  if (request.resolution !== undefined) throw fieldError(['resolution'], 'Use upscale_factor instead of resolution')
  checkChoice(model, 'upscale_factor', `${upscaleFactor(model, request.upscale_factor)}`, factors.map(String))
  if (request.video_url === undefined) {
    throw fieldError(['video_url'], `${model.id} needs the video to upscale: an address or a data URL`)
  }
}

function checkAudio({ id, constraints }: VideoModel, asked: boolean | undefined): void {
  const { audio, audio_configurable: configurable } = constraints
  if (asked !== false || configurable || !audio) return
  throw fieldError(['audio'], `${id} always makes videos with audio; allowed value: true`)
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
  if (isNoPrompt(request.prompt) && !isUpscaler(model)) throw fieldError(['prompt'], `${model.id} needs a prompt`)
  const limit = model.constraints.prompt_character_limit ?? promptCharacters
  for (const field of ['prompt', 'negative_prompt'] as const) {
    const length = request[field]?.length ?? 0
    if (length > limit) throw fieldError([field], `has ${length} characters; ${model.id} takes ${limit} at most`)
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0)

const untaken = (model: VideoModel, field: string) =>
  fieldError([field], `${model.id} does not take ${field}; leave it out`)
