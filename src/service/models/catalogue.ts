import { modelGone, modelNotFound } from '#contract/errors/errors.ts'
import type { ModelRecord, ModelType } from '#contract/operations/models.ts'
import { VideoAspectRatio, VideoDuration, VideoResolution } from '#contract/operations/video.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import type { MusicModel, SpeechModel, TranscriptionModel } from './audio-models.ts'
import { checkMusicModel, checkSpeechModel, checkTranscriptionModel } from './audio-records.ts'
import { modelCount } from './bounds.ts'
import { checkDeprecation, isRemoved, replacementOf } from './deprecation.ts'
import type { EmbeddingModel, ImageModel, Model, TextModel, VideoModel } from './model.ts'
import { modelRecord } from './model-record.ts'
import { noSuchModel } from './no-such-model.ts'
import {
  type BackgroundModel,
  checkPictureModel,
  type EditModel,
  isPictureModel,
  type UpscaleModel,
} from './picture-model.ts'
import { brokenPromise } from './promised-choices.ts'

/** Ids stand in URLs, headers and a path's segment of logs; `=` would read as a suffix of options. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

/** What records say of the service itself. */
export interface ShownAs {
  ownedBy: string
  /** Whether it has what it searches the web with; a record claims nothing that nobody can have. */
  hasSearch: boolean
}

/** Models as they are sold until others take their place. */
interface Listed {
  models: readonly Model[]
  records: ReadonlyMap<string, ModelRecord>
  /** By type and id or trait, so that a trait can serve for each type. */
  named: ReadonlyMap<string, Model>
}

/** The models that the service sells. Throws a plain sentence where a model contradicts itself or another. */
export class Catalogue {
  readonly #shown: ShownAs
  readonly #clock: Clock
  #listed: Listed

  constructor(models: readonly Model[], { clock = systemClock, ...shown }: Partial<ShownAs> & { clock?: Clock } = {}) {
    this.#shown = { ownedBy: 'service', hasSearch: true, ...shown }
    this.#clock = clock
    this.#listed = listed(models, this.#shown)
  }

  /** Sells these from now on; calls that have their model go on with it. Throws as the constructor does, and changes nothing then. */
  replace(models: readonly Model[]): void {
    this.#listed = listed(models, this.#shown)
  }

  /** By id, trait (`default`) or another provider's id. Throws `modelNotFound`, for a video model too. */
  text(name: string): TextModel {
    return this.#find('text', name)
  }

  /** By id, trait or another provider's id. Throws `modelNotFound`, for a text model too. */
  video(name: string): VideoModel {
    return this.#find('video', name)
  }

  /** By id, trait or another provider's id. Throws `modelNotFound`, for a model of another type too. */
  embedding(name: string): EmbeddingModel {
    return this.#find('embedding', name)
  }

  /** By id, trait or another provider's id. Throws `modelNotFound`, for a model of another type too. */
  image(name: string): ImageModel {
    return this.#find('image', name)
  }

  /** One that changes pictures. By id, trait or another provider's id. Throws `modelNotFound`. */
  edit(name: string): EditModel {
    return this.#find('inpaint', name)
  }

  /** By id, trait or another provider's id. Throws `modelNotFound`. */
  upscale(name: string): UpscaleModel {
    return this.#find('upscale', name)
  }

  /** One that removes backgrounds. By id, trait or another provider's id. Throws `modelNotFound`. */
  background(name: string): BackgroundModel {
    return this.#find('background', name)
  }

  /** A model of speech, as the others are found. */
  speech(name: string): SpeechModel {
    return this.#find('tts', name)
  }

  /** A model that transcribes, as the others are found. */
  transcription(name: string): TranscriptionModel {
    return this.#find('asr', name)
  }

  /** A model of music, as the others are found. */
  music(name: string): MusicModel {
    return this.#find('music', name)
  }

  #find<Type extends Model['type']>(type: Type, name: string): Extract<Model, { type: Type }> {
    const asked = this.asked(type, name)
    if (!asked) throw noSuchModel(type, name, this.#onSale())
    return this.#current(asked) as Extract<Model, { type: Type }>
  }

  /** The model of a name, also where another one answers for it by now. */
  asked(type: Model['type'], name: string): Model | null {
    return this.#listed.named.get(`${type} ${name}`) ?? null
  }

  /** The model of a job, whatever has become of it since the job was taken on. Throws `modelNotFound`. */
  ofJob(id: string): VideoModel | MusicModel {
    const model = this.asked('video', id) ?? this.asked('music', id)
    if (model?.type !== 'video' && model?.type !== 'music') throw modelNotFound()
    return model
  }

  /** Throws `modelGone` where it was removed and nothing stands in for it. */
  #current(model: Model): Model {
    if (!isRemoved(model, this.#clock.now())) return model
    const replacement = this.asked(model.type, replacementOf(model) ?? '')
    if (!replacement) throw modelGone()
    return this.#current(replacement)
  }

  get models(): readonly Model[] {
    return this.#listed.models
  }

  #onSale(): Model[] {
    return this.#listed.models.filter(model => !isRemoved(model, this.#clock.now()))
  }

  records(type: ModelType | 'all' | 'code'): ModelRecord[] {
    const { records } = this.#listed
    return this.#onSale()
      .filter(model => isOfType(model, type))
      .flatMap(model => records.get(model.id) ?? [])
  }

  /** Trait to model id. */
  traits(type: ModelType): Record<string, string> {
    return this.#names(type, model => model.traits)
  }

  /** Another provider's id to model id. */
  compatibleIds(type: ModelType): Record<string, string> {
    return this.#names(type, model => model.compatibleIds ?? [])
  }

  /** Names of a removed model are those of what stands in for it. */
  #names(type: ModelType, namesOf: (model: Model) => readonly string[]): Record<string, string> {
    const now = this.#clock.now()
    const models = this.#listed.models.filter(
      model => model.type === type && !(isRemoved(model, now) && replacementOf(model) === null),
    )
    return Object.fromEntries(models.flatMap(model => namesOf(model).map(name => [name, this.#current(model).id])))
  }
}

function listed(models: readonly Model[], { ownedBy, hasSearch }: ShownAs): Listed {
  if (models.length > modelCount) throw new Error(`A service lists ${modelCount} models at most.`)
  for (const model of models) checkModel(model)
  const ids = new Set(models.map(model => model.id))
  if (ids.size < models.length) throw new Error('Two models share an id.')
  const named = new Map<string, Model>()
  for (const model of models) addName(named, model, model.id)
  for (const model of models) for (const name of otherNames(model)) addName(named, model, name)
  for (const model of models) checkDeprecation(model, models)
  const shown = hasSearch ? models : models.map(withoutSearch)
  const records = shown.map(model => modelRecord(model, ownedBy))
  return { models, named, records: new Map(records.map(record => [record.id, record])) }
}

function addName(named: Map<string, Model>, model: Model, name: string): void {
  const key = `${model.type} ${name}`
  const other = named.get(key)
  if (other) throw new Error(`Models ${other.id} and ${model.id} share the name ${name}.`)
  named.set(key, model)
}

const withoutSearch = (model: Model): Model =>
  model.type === 'text' ? { ...model, capabilities: { ...model.capabilities, supportsWebSearch: false } } : model

const otherNames = ({ traits, compatibleIds = [] }: Model): readonly string[] => [...traits, ...compatibleIds]

function isOfType(model: Model, type: ModelType | 'all' | 'code'): boolean {
  // Whoever chooses among all of them by the published contract knows no such type.
  if (type === 'all') return model.type !== 'background'
  if (type === 'code') return model.type === 'text' && model.capabilities.optimizedForCode
  return model.type === type
}

function checkModel(model: Model): void {
  for (const name of [model.id, ...otherNames(model)]) {
    if (!idPattern.test(name)) throw new Error(`${JSON.stringify(name)} cannot be a model's id.`)
  }
  const broken = brokenPromise(model, model.engine)
  if (broken !== null) throw new Error(`Model ${model.id} offers ${broken}, which its engine cannot carry out.`)
  if (model.type === 'text') checkTextModel(model)
  else if (model.type === 'embedding') checkEmbeddingModel(model)
  else if (model.type === 'image') checkImageModel(model)
  else if (isPictureModel(model)) checkPictureModel(model)
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
  if (price.perPictureMicroUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!(sideDivisor >= 1 && longestSide >= sideDivisor))
    throw new Error(`Model ${id} must make a picture of some size.`)
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
