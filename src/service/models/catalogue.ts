import { modelNotFound } from '#contract/errors.ts'
import type { ModelRecord, ModelType } from '#contract/models.ts'
import { VideoAspectRatio, VideoDuration, VideoResolution } from '#contract/video.ts'
import { modelCount } from './bounds.ts'
import type { EmbeddingModel, ImageModel, Model, TextModel, VideoModel } from './model.ts'
import { modelRecord } from './model-record.ts'

/** Ids stand in URLs, headers and a path's segment of logs; `=` would read as a suffix of options. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

/** The models that the service sells. Built once at start; throws a plain sentence where a model contradicts itself. */
export class Catalogue {
  readonly #models: readonly Model[]
  readonly #records: ReadonlyMap<string, ModelRecord>
  /** By type and id or trait, so that a trait can serve for each type. */
  readonly #named = new Map<string, Model>()

  constructor(models: readonly Model[], options: { ownedBy?: string } = {}) {
    if (models.length > modelCount) throw new Error(`A service lists ${modelCount} models at most.`)
    for (const model of models) checkModel(model)
    const ids = new Set(models.map(model => model.id))
    if (ids.size < models.length) throw new Error('Two models share an id.')
    for (const model of models) this.#name(model, model.id)
    for (const model of models) for (const name of otherNames(model)) this.#name(model, name)
    this.#models = models
    this.#records = new Map(models.map(model => [model.id, modelRecord(model, options.ownedBy ?? 'service')]))
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

  #find<Type extends Model['type']>(type: Type, name: string): Extract<Model, { type: Type }> {
    const model = this.#named.get(`${type} ${name}`)
    if (!model) throw modelNotFound()
    return model as Extract<Model, { type: Type }>
  }

  get models(): readonly Model[] {
    return this.#models
  }

  records(type: ModelType | 'all' | 'code'): ModelRecord[] {
    return this.#models.filter(model => isOfType(model, type)).flatMap(model => this.#records.get(model.id) ?? [])
  }

  /** Trait to model id. */
  traits(type: ModelType): Record<string, string> {
    return this.#names(type, model => model.traits)
  }

  /** Another provider's id to model id. */
  compatibleIds(type: ModelType): Record<string, string> {
    return this.#names(type, model => model.compatibleIds ?? [])
  }

  #names(type: ModelType, namesOf: (model: Model) => readonly string[]): Record<string, string> {
    const models = this.#models.filter(model => model.type === type)
    return Object.fromEntries(models.flatMap(model => namesOf(model).map(name => [name, model.id])))
  }

  #name(model: Model, name: string): void {
    const key = `${model.type} ${name}`
    const other = this.#named.get(key)
    if (other) throw new Error(`Models ${other.id} and ${model.id} share the name ${name}.`)
    this.#named.set(key, model)
  }
}

const otherNames = ({ traits, compatibleIds = [] }: Model): readonly string[] => [...traits, ...compatibleIds]

function isOfType(model: Model, type: ModelType | 'all' | 'code'): boolean {
  if (type === 'all') return true
  if (type === 'code') return model.type === 'text' && model.capabilities.optimizedForCode
  return model.type === type
}

function checkModel(model: Model): void {
  for (const name of [model.id, ...otherNames(model)]) {
    if (!idPattern.test(name)) throw new Error(`${JSON.stringify(name)} cannot be a model's id.`)
  }
  if (model.type === 'text') checkTextModel(model)
  else if (model.type === 'embedding') checkEmbeddingModel(model)
  else if (model.type === 'image') checkImageModel(model)
  else checkVideoModel(model)
}

function checkEmbeddingModel({ id, price, dimensions, maximumInputTokens }: EmbeddingModel): void {
  if (price.inputPicoUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!(dimensions >= 1 && maximumInputTokens >= 1)) {
    throw new Error(`Model ${id} must take at least one token and give at least one dimension.`)
  }
}

function checkTextModel({ id, price, contextTokens, maximumCompletionTokens }: TextModel): void {
  const prices = [price.inputPicoUsd, price.outputPicoUsd, price.cachedInputPicoUsd ?? 0n]
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
  if (durations.length === 0) throw new Error(`Model ${id} must allow a duration.`)
  const unknown = [
    ...durations.filter(each => !VideoDuration.safeParse(each).success),
    ...resolutions.filter(each => !VideoResolution.safeParse(each).success),
    ...ratios.filter(each => !VideoAspectRatio.safeParse(each).success),
  ]
  if (unknown.length) throw new Error(`Model ${id} allows ${unknown.join(', ')}, which no request can ask for.`)
  for (const resolution of resolutions.length ? resolutions : ['']) {
    const perSecond = price.perSecondMicroUsd[resolution]
    if (perSecond === undefined || perSecond < 0n) throw new Error(`Model ${id} has no price for "${resolution}".`)
  }
  if (price.audioPerSecondMicroUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
}
