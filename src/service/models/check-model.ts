import type { MicroUsd } from '#contract/money.ts'
import { VideoAspectRatio, VideoDuration, VideoResolution } from '#contract/operations/video.ts'
import { brokenPromise } from './carried-choices.ts'
import {
  type EmbeddingModel,
  type ImageInputModel,
  type ImageModel,
  isImageInputModel,
  type Model,
  type MusicModel,
  type SpeechModel,
  type TextModel,
  type TranscriptionModel,
  type VideoModel,
} from './model.ts'

/** Ids stand in URLs, headers and a path's segment of logs; `=` would read as a suffix of options. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

export const otherNames = ({ traits, compatibleIds = [] }: Model): readonly string[] => [...traits, ...compatibleIds]

export function checkModel(model: Model): void {
  for (const name of [model.id, ...otherNames(model)]) {
    if (!idPattern.test(name)) throw new Error(`${JSON.stringify(name)} cannot be a model's id.`)
  }
  const broken = brokenPromise(model, model.engine)
  if (broken !== null) throw new Error(`Model ${model.id} offers ${broken}, which its engine cannot carry out.`)
  if (model.type === 'text') checkTextModel(model)
  else if (model.type === 'embedding') checkEmbeddingModel(model)
  else if (model.type === 'image') checkImageModel(model)
  else if (isImageInputModel(model)) checkImageInputModel(model)
  else if (model.type === 'tts') checkSpeechModel(model)
  else if (model.type === 'music') checkMusicModel(model)
  else if (model.type === 'asr') checkTranscriptionModel(model)
  else checkVideoModel(model)
}

function checkEmbeddingModel({ id, price, dimensions, maximumInputTokens }: EmbeddingModel): void {
  if (price.inputPicoUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!(dimensions >= 1 && maximumInputTokens >= 1)) {
    throw new Error(`Model ${id} must take at least one token and give at least one dimension.`)
  }
}

function checkTextModel({ id, price, contextTokens, maximumCompletionTokens }: TextModel): void {
  const { inputPicoUsd, outputPicoUsd, cachedInputPicoUsd = 0n, cacheWritePicoUsd = 0n } = price
  const prices = [inputPicoUsd, outputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd]
  if (prices.some(each => each < 0n)) throw new Error(`Model ${id} has a price below zero.`)
  if (!(maximumCompletionTokens >= 1 && maximumCompletionTokens <= contextTokens)) {
    throw new Error(`Model ${id} must complete at least one token, and not more than its context of ${contextTokens}.`)
  }
}

function checkImageModel({ id, price, sideDivisor, longestSide }: ImageModel): void {
  if (price.perImageMicroUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!(sideDivisor >= 1 && longestSide >= sideDivisor))
    throw new Error(`Model ${id} must make an image of at least one pixel.`)
}

function checkVideoModel({ id, price, constraints }: VideoModel): void {
  const { durations, resolutions, aspect_ratios: ratios } = constraints
  const factors = constraints.upscale_factors?.map(factor => `${factor}x`)
  if (durations.length === 0 && !factors) throw new Error(`Model ${id} must allow a duration.`)
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
  if (unknown.length) throw new Error(`Model ${id} allows ${unknown.join(', ')}, which no request can ask for.`)
  for (const resolution of factors ?? (resolutions.length ? resolutions : [''])) {
    const perSecond = price.perSecondMicroUsd[resolution]
    if (perSecond === undefined || perSecond < 0n) throw new Error(`Model ${id} has no price for "${resolution}".`)
  }
  if (price.audioPerSecondMicroUsd < 0n || (price.referencePerSecondMicroUsd ?? 0n) < 0n)
    throw new Error(`Model ${id} has a price below zero.`)
}

/** Throws a plain sentence where a model contradicts itself. */
function checkImageInputModel(model: ImageInputModel): void {
  if (pricesOf(model).some(each => each < 0n)) throw new Error(`Model ${model.id} has a price below zero.`)
  if (!(model.shortestSide >= 1 && model.mostPixels >= model.shortestSide ** 2)) {
    throw new Error(`Model ${model.id} must take an image of at least one pixel.`)
  }
  if (model.type === 'inpaint' && !(model.mostImages >= 1 && model.mostImages <= 3)) {
    throw new Error(`Model ${model.id} must take one to three images.`)
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

/** Throws a sentence where a model contradicts itself. */
function checkSpeechModel({ id, voices, formats, price, voiceCloning, engine }: SpeechModel): void {
  if (price.perCharacterPicoUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!voices.length || !formats.length) throw new Error(`Model ${id} must have a voice and a format.`)
  if (voices.some(voice => voice.startsWith('vv_'))) {
    throw new Error(`Model ${id} has a voice that begins with vv_, as only those made of recordings do.`)
  }
  if (voiceCloning && !engine.cloneVoice) throw new Error(`The engine of model ${id} makes no voices of recordings.`)
}

function checkTranscriptionModel({ id, price, longestSeconds }: TranscriptionModel): void {
  if (price.perSecondPicoUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!(longestSeconds >= 1)) throw new Error(`Model ${id} must take at least one second of audio.`)
}

function checkMusicModel({ id, price, durations, formats }: MusicModel): void {
  if (price.microUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  const allowsDefault =
    'options' in durations
      ? durations.options.includes(durations.default)
      : durations.least <= durations.default && durations.default <= durations.most
  if (!allowsDefault) throw new Error(`Model ${id} must allow the duration that it makes by itself.`)
  if (!formats.length) throw new Error(`Model ${id} must have a format.`)
}
