import { fieldError } from '#contract/errors/issues.ts'
import type { MicroUsd } from '#contract/money.ts'
import { VideoAspectRatio, VideoDuration, VideoResolution } from '#contract/operations/video.ts'
import type { Carries } from '#engines/ports/engine.ts'
import {
  type EditModel,
  type EmbeddingModel,
  type ImageInputModel,
  type ImageModel,
  isImageInputModel,
  isUpscaler,
  type Model,
  type MusicModel,
  type SpeechModel,
  type TextModel,
  type TranscriptionModel,
  takenMedia,
  type VideoModel,
} from './model.ts'
import { qualitiesOf } from './model-record.ts'

/** Ids appear in URLs, headers and logs; `=` would read as a suffix of options. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

export const otherNames = ({ traits, compatibleIds = [] }: Model): readonly string[] => [...traits, ...compatibleIds]

/** Throws a sentence if a model is inconsistent, or offers what its engine does not support. */
export function checkModel(model: Model): void {
  for (const name of [model.id, ...otherNames(model)]) {
    if (!idPattern.test(name)) throw new Error(`${JSON.stringify(name)} cannot be a model's id.`)
  }
  const broken = brokenPromise(model, model.engine)
  if (broken !== null) throw new Error(`Model ${model.id} offers ${broken}, which its engine does not support.`)
  if (model.type === 'text') checkTextModel(model)
  else if (model.type === 'embedding') checkEmbeddingModel(model)
  else if (model.type === 'image') checkImageModel(model)
  else if (isImageInputModel(model)) checkImageInputModel(model)
  else if (model.type === 'tts') checkSpeechModel(model)
  else if (model.type === 'music') checkMusicModel(model)
  else if (model.type === 'asr') checkTranscriptionModel(model)
  else checkVideoModel(model)
}

function requirePrices(id: string, prices: readonly bigint[]): void {
  if (prices.some(each => each < 0n)) throw new Error(`Model ${id} has a price below zero.`)
}

function checkEmbeddingModel({ id, price, dimensions, maximumInputTokens }: EmbeddingModel): void {
  requirePrices(id, [price.inputPicoUsd])
  if (!(dimensions >= 1 && maximumInputTokens >= 1)) {
    throw new Error(`Model ${id} must accept at least one token and return at least one dimension.`)
  }
}

function checkTextModel({ id, price, contextTokens, maximumCompletionTokens }: TextModel): void {
  const { inputPicoUsd, outputPicoUsd, cachedInputPicoUsd = 0n, cacheWritePicoUsd = 0n } = price
  requirePrices(id, [inputPicoUsd, outputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd])
  if (!(maximumCompletionTokens >= 1 && maximumCompletionTokens <= contextTokens)) {
    throw new Error(`Model ${id} must return at least one token, and at most its context of ${contextTokens}.`)
  }
}

function checkImageModel({ id, price, sideDivisor, longestSide }: ImageModel): void {
  requirePrices(id, [price.perImageMicroUsd])
  if (!(sideDivisor >= 1 && longestSide >= sideDivisor))
    throw new Error(`Model ${id} must return images of at least one pixel.`)
}

function checkVideoModel({ id, price, constraints }: VideoModel): void {
  const { durations, resolutions, aspect_ratios: ratios } = constraints
  const factors = constraints.upscale_factors?.map(factor => `${factor}x`)
  if (durations.length === 0 && !factors) throw new Error(`Model ${id} needs at least one duration.`)
  if (factors && (durations.length || resolutions.length || ratios.length)) {
    throw new Error(
      `Model ${id} upscales, so its video decides on duration, resolution and ratio; leave their lists empty.`,
    )
  }
  const unknown = [
    ...durations.filter(each => !VideoDuration.safeParse(each).success),
    ...resolutions.filter(each => !VideoResolution.safeParse(each).success),
    ...ratios.filter(each => !VideoAspectRatio.safeParse(each).success),
  ]
  if (unknown.length) throw new Error(`Model ${id} allows ${unknown.join(', ')}, which no request can contain.`)
  for (const resolution of factors ?? (resolutions.length ? resolutions : [''])) {
    const perSecond = price.perSecondMicroUsd[resolution]
    if (perSecond === undefined || perSecond < 0n) throw new Error(`Model ${id} has no price for "${resolution}".`)
  }
  requirePrices(id, [price.audioPerSecondMicroUsd, price.referencePerSecondMicroUsd ?? 0n])
}

function checkImageInputModel(model: ImageInputModel): void {
  requirePrices(model.id, pricesOf(model))
  if (!(model.shortestSide >= 1 && model.mostPixels >= model.shortestSide ** 2)) {
    throw new Error(`Model ${model.id} must accept images of at least one pixel.`)
  }
  if (model.type === 'inpaint' && !(model.mostImages >= 1 && model.mostImages <= 3)) {
    throw new Error(`Model ${model.id} must accept one to three images.`)
  }
}

function pricesOf(model: ImageInputModel): readonly MicroUsd[] {
  switch (model.type) {
    case 'inpaint': {
      const { perImageMicroUsd, resolutions = {}, quality = {} } = model.price
      return [perImageMicroUsd, ...Object.values(resolutions), ...Object.values(quality).flatMap(Object.values)]
    }
    case 'upscale':
      return [model.price.twiceMicroUsd, model.price.fourTimesMicroUsd]
    case 'background':
      return [model.price.perImageMicroUsd]
  }
}

function checkSpeechModel({ id, voices, formats, price, voiceCloning, engine }: SpeechModel): void {
  requirePrices(id, [price.perCharacterPicoUsd])
  if (!voices.length || !formats.length) throw new Error(`Model ${id} needs a voice and a format.`)
  if (voices.some(voice => voice.startsWith('vv_'))) {
    throw new Error(`Model ${id} has a voice that begins with vv_; only voices made from recordings may.`)
  }
  if (voiceCloning && !engine.cloneVoice)
    throw new Error(`The engine of model ${id} cannot create voices from recordings.`)
}

function checkTranscriptionModel({ id, price, longestSeconds }: TranscriptionModel): void {
  requirePrices(id, [price.perSecondPicoUsd])
  if (!(longestSeconds >= 1)) throw new Error(`Model ${id} must accept at least one second of audio.`)
}

function checkMusicModel({ id, price, durations, formats }: MusicModel): void {
  requirePrices(id, [price.microUsd])
  const allowsDefault =
    'options' in durations
      ? durations.options.includes(durations.default)
      : durations.least <= durations.default && durations.default <= durations.most
  if (!allowsDefault) throw new Error(`Model ${id} must allow its own default duration.`)
  if (!formats.length) throw new Error(`Model ${id} needs a format.`)
}

/** A field's value that a model's record offers to callers. */
type PromisedChoice = readonly [field: string, value: unknown]

/**
 * Returns the first choice that a model offers but this engine does not support, such as `resolution 720p`; null if it
 * supports all.
 */
export function brokenPromise(model: Model, engine: Model['engine']): string | null {
  // For a text engine, only its search is a choice: its requests have an allowlist of members.
  if (model.type === 'text') {
    const searches = 'hasXSearch' in engine && engine.hasXSearch === true
    return model.capabilities.supportsXSearch && !searches ? 'supportsXSearch' : null
  }
  if (!('carries' in engine)) return null
  const carries = engine.carries as Carries<string>
  const broken = promisedChoices(model).find(([field, value]) => !carries(field, value))
  if (!broken) return null
  const [field, value] = broken
  return typeof value === 'string' || typeof value === 'number' ? `${field} ${value}` : field
}

/** A single value is not a choice: the engine may have it built in. */
const choicesOf = (field: string, values: readonly unknown[]): PromisedChoice[] =>
  values.length > 1 ? values.map(value => [field, value]) : []

const offered = (field: string, isOffered: boolean, value: unknown = true): PromisedChoice[] =>
  isOffered ? [[field, value]] : []

function promisedChoices(model: Model): PromisedChoice[] {
  switch (model.type) {
    case 'video':
      return ofVideo(model)
    case 'image':
      return ofImage(model)
    case 'inpaint':
      return ofEdits(model)
    case 'upscale':
      return [['scale', 2], ['scale', 4], ...offered('enhance', model.hasEnhance)]
    case 'tts':
      return ofSpeech(model)
    case 'asr':
      return offered('timestamps', model.hasTimestamps)
    case 'music':
      return ofMusic(model)
    case 'embedding':
      return offered('dimensions', model.hasDimensions, model.dimensions)
    case 'text':
    case 'background':
      return []
  }
}

function ofVideo(model: VideoModel): PromisedChoice[] {
  const { aspect_ratios: ratios, resolutions, durations, upscale_factors: factors = [] } = model.constraints
  return [
    ...offered('prompt', !isUpscaler(model)),
    ...choicesOf('duration', durations),
    ...choicesOf('resolution', resolutions),
    ...choicesOf('aspect_ratio', ratios),
    ...choicesOf('upscale_factor', factors),
    ...offered('audio', model.constraints.audio_configurable, false),
    ...takenMedia(model).map((field): PromisedChoice => [field, undefined]),
  ]
}

const ofImage = (model: ImageModel): PromisedChoice[] => [
  ['prompt', true],
  ['width', undefined],
  ['height', undefined],
  ...model.formats.map((format): PromisedChoice => ['format', format]),
  ...offered('negative_prompt', model.hasNegativePrompt),
  ...offered('seed', model.hasSeed),
  ...offered('steps', model.steps.max > 1),
  ...model.styles.map((style): PromisedChoice => ['style_preset', style]),
]

const ofEdits = (model: EditModel): PromisedChoice[] => [
  ['prompt', true],
  ['images', model.mostImages],
  ...model.formats.map((format): PromisedChoice => ['output_format', format]),
  // A ratio is always a choice, because an image keeps its own by default.
  ...model.aspectRatios.map((ratio): PromisedChoice => ['aspect_ratio', ratio]),
  ...choicesOf('resolution', Object.keys(model.price.resolutions ?? {})),
  ...qualitiesOf(model.price).map((quality): PromisedChoice => ['quality', quality]),
]

const ofSpeech = (model: SpeechModel): PromisedChoice[] => [
  ...model.voices.map((voice): PromisedChoice => ['voice', voice]),
  ...offered('speed', model.hasSpeed),
  ...offered('prompt', model.hasStyle),
  ...offered('temperature', model.hasSampling),
  ...offered('top_p', model.hasSampling),
  ...(model.languages ?? []).map((language): PromisedChoice => ['language', language]),
]

const ofMusic = (model: MusicModel): PromisedChoice[] => [
  ['prompt', true],
  ...('options' in model.durations
    ? choicesOf('duration_seconds', model.durations.options)
    : offered('duration_seconds', model.durations.least < model.durations.most, undefined)),
  ...offered('lyrics_prompt', model.lyrics !== undefined),
  ...offered('force_instrumental', model.hasInstrumental),
  ...offered('lyrics_optimizer', model.hasLyricsOptimizer),
  ...choicesOf('voice', model.voices),
  ...offered('language_code', model.hasLanguageCode),
  ...offered('speed', model.speed !== undefined, undefined),
]

interface Carrier<Choice extends string> {
  id: string
  engine: { carries: Carries<Choice> }
}

/** Values that request nothing. */
const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

/**
 * Every choice in a request must reach the engine. Leave schema defaults out of `chosen`, because the caller did not
 * choose them. Throws `invalidRequest` with the first field that would be dropped.
 */
export function requireCarried<Choice extends string>(
  { id, engine }: Carrier<Choice>,
  chosen: Readonly<Partial<Record<Choice, unknown>>>,
): void {
  for (const [name, value] of Object.entries(chosen)) {
    if (isNothing(value) || engine.carries(name as Choice, value)) continue
    throw fieldError([name], `${id} ${refusal(name, value)}; leave it out or choose another model`)
  }
}

/** Shows short values, because another value may be supported. */
function refusal(name: string, value: unknown): string {
  const isShown =
    (typeof value === 'string' && value.length <= 32 && !/^(data|https?):/i.test(value)) || isNumber(value)
  return isShown ? `cannot use ${JSON.stringify(value)} as ${name}` : `cannot use ${name}`
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean'
