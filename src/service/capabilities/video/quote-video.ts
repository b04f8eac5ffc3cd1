import { fieldError } from '#contract/errors/issues.ts'
import { addUsd, type MicroUsd, microUsd, picoPerMicro, priceLines } from '#contract/money.ts'
import {
  isNoPrompt,
  omitsDuration,
  type UpscaleFactor,
  type VideoMediaField,
  type VideoQueueRequest,
  type VideoQuoteRequest,
  videoMediaFields,
} from '#contract/operations/video.ts'
import { type MediaLengths, noMedia, secondsOf } from '#engines/video-media/media-limits.ts'
import type { Line } from '#ledger/store/units.ts'
import { requireCarried } from '../../models/check-model.ts'
import { isUpscaler, promptCharacters, takenMedia, upscaleFactor, type VideoModel } from '../../models/model.ts'

/** In a quote, these members are not in its own schema. */
type Chosen = Readonly<Partial<Record<VideoMediaField | 'negative_prompt', unknown>>>

/**
 * Checks everything on which a quote depends against the model's record. Throws `invalidRequest` with the allowed
 * values.
 */
export function checkVideoPrice(model: VideoModel, request: VideoQuoteRequest | VideoQueueRequest): void {
  const { durations, resolutions, aspect_ratios: ratios } = model.constraints
  if (isUpscaler(model)) {
    checkUpscale(model, request)
  } else {
    if (omitsDuration(request))
      throw fieldError(['duration'], `${model.id} needs a duration; allowed values: ${durations.join(', ')}`)
    checkChoice(model, 'duration', request.duration, durations)
    checkChoice(model, 'resolution', request.resolution, resolutions)
    if (request.upscale_factor !== undefined) throw untaken(model, 'upscale_factor')
  }
  checkChoice(model, 'aspect_ratio', request.aspect_ratio, ratios)
  checkAudio(model, request.audio)
  checkChosen(model, request)
}

/** Checks the further members of a queue request; a quote with them is refused for the same reasons. */
function checkChosen(model: VideoModel, request: Chosen): void {
  const taken = takenMedia(model)
  for (const field of videoMediaFields) {
    if (!taken.includes(field) && isGiven(request[field])) throw untaken(model, field)
  }
  const media = Object.fromEntries(videoMediaFields.map(field => [field, request[field]]))
  // The record covers all other choices, and no model offers a choice that its engine does not support.
  requireCarried(model, { negative_prompt: request.negative_prompt, ...media })
}

/** Checks everything in a queue request that does not need its media. Throws `invalidRequest`. */
export function checkVideo(model: VideoModel, request: VideoQueueRequest): void {
  checkVideoPrice(model, request)
  checkPrompts(model, request)
  if (model.constraints.model_type === 'image-to-video' && request.image_url === undefined) {
    throw fieldError(['image_url'], `${model.id} needs an image: a URL or a data URL (data:image/png;base64,…)`)
  }
}

/** The duration is ignored, because the video has its own (published contract §4.2). */
function checkUpscale(model: VideoModel, request: VideoQuoteRequest | VideoQueueRequest): void {
  const { upscale_factors: factors = [] } = model.constraints
  if (request.resolution !== undefined) throw fieldError(['resolution'], 'Use upscale_factor instead of resolution')
  checkChoice(model, 'upscale_factor', `${upscaleFactor(model, request.upscale_factor)}`, factors.map(String))
  if (request.video_url === undefined) {
    throw fieldError(['video_url'], `${model.id} needs the video to upscale: a URL or a data URL`)
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
    // Whole characters, as the description counts them; an emoji has two UTF-16 units.
    const { length } = [...(request[field] ?? '')]
    if (length > limit) throw fieldError([field], `has ${length} characters; ${model.id} accepts ${limit} at most`)
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0)

const untaken = (model: VideoModel, field: string) =>
  fieldError([field], `${model.id} does not support ${field}; leave it out`)

interface VideoPriceQuoted {
  total: MicroUsd
  lines: Line[]
}

/** Prices a video, for the quote and for the charge. The request has passed `checkVideo`. */
export function priceVideo(
  model: VideoModel,
  request: VideoQuoteRequest | VideoQueueRequest,
  lengths: MediaLengths = noMedia,
): VideoPriceQuoted {
  const units = [
    ...pricedUnits(model, videoSettings(model, request, lengths)),
    ...referenceUnits(model, lengths.references),
  ]
  const amounts = priceLines(units)
  const lines = units.map((each, index) => ({ ...each, amount: amounts[index] ?? microUsd(0) }))
  return { total: addUsd(...amounts), lines }
}

function pricedUnits({ id, price }: VideoModel, { seconds, resolution, audio, upscaleFactor }: VideoSettings) {
  const choice = upscaleFactor === null ? resolution : `${upscaleFactor}x`
  const perSecond = price.perSecondMicroUsd[choice ?? '']
  if (perSecond === undefined) throw new Error(`Model ${id} has no price for the resolution "${choice ?? ''}".`)
  const units = BigInt(seconds)
  const image = {
    sku: choice ? `video.second.${choice}` : 'video.second',
    units,
    unitPricePicoUsd: perSecond * picoPerMicro,
  }
  if (!audio || price.audioPerSecondMicroUsd === 0n) return [image]
  return [image, { sku: 'video.audio.second', units, unitPricePicoUsd: price.audioPerSecondMicroUsd * picoPerMicro }]
}

/** Started seconds of all reference videos together. */
function referenceUnits({ price }: VideoModel, seconds: number) {
  const perSecond = price.referencePerSecondMicroUsd ?? 0n
  if (perSecond === 0n || seconds === 0) return []
  const units = BigInt(Math.ceil(seconds))
  return [{ sku: 'video.reference.second', units, unitPricePicoUsd: perSecond * picoPerMicro }]
}

/** The settings of a request, with the model's defaults for what it omits. */
interface VideoSettings {
  seconds: number
  /** Null if the model has no choice. */
  resolution: string | null
  aspectRatio: string | null
  audio: boolean
  /** Null except for upscalers. */
  upscaleFactor: UpscaleFactor | null
}

/** The first value of a model's list is its default; audio is on by default (brief §2.6). */
function videoSettings(
  model: Pick<VideoModel, 'constraints'>,
  request: Pick<
    VideoQueueRequest | VideoQuoteRequest,
    'duration' | 'resolution' | 'aspect_ratio' | 'audio' | 'upscale_factor'
  >,
  lengths: MediaLengths = noMedia,
): VideoSettings {
  const { resolutions, aspect_ratios: ratios, audio, audio_configurable: configurable } = model.constraints
  const upscales = isUpscaler(model)
  return {
    seconds: upscales ? detectedSeconds(lengths) : secondsOf(request.duration),
    resolution: resolutions.length ? (request.resolution ?? resolutions[0] ?? null) : null,
    aspectRatio: ratios.length ? (request.aspect_ratio ?? ratios[0] ?? null) : null,
    audio: audio && (!configurable || request.audio !== false),
    upscaleFactor: upscaleFactor(model, request.upscale_factor),
  }
}

/** Started seconds count fully: 2.4 s cost as much as 3 s. */
function detectedSeconds({ video }: MediaLengths): number {
  if (video === null) throw new Error('An upscale cannot be priced before its video has been read.')
  return Math.max(1, Math.ceil(video))
}

/** Returns the request with all defaults filled in, so that the engine makes what was priced. */
export function settledRequest(
  model: Pick<VideoModel, 'constraints'>,
  request: VideoQueueRequest,
  lengths: MediaLengths = noMedia,
): VideoQueueRequest {
  const { resolution, aspectRatio, audio, upscaleFactor: factor } = videoSettings(model, request, lengths)
  const settled = { ...request, audio }
  if (resolution !== null) settled.resolution = resolution as VideoQueueRequest['resolution']
  if (aspectRatio !== null) settled.aspect_ratio = aspectRatio as VideoQueueRequest['aspect_ratio']
  if (factor !== null) settled.upscale_factor = factor
  return settled
}
