import { modelGone, modelNotFound } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { nearNames } from '#contract/near-names.ts'
import type { ModelRecord, ModelType } from '#contract/operations/models.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import type { InFlight } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import { checkModel, otherNames } from './check-model.ts'
import { type Model, type MusicModel, modelCount, namedModels, type VideoModel } from './model.ts'
import { checkDeprecation, isRemoved, modelRecord, replacementOf } from './model-record.ts'

/** The facts in records that are about the service itself. */
interface ShownAs {
  ownedBy: string
  /** Whether web search is available; only then may a record claim it. */
  hasSearch: boolean
}

/** The current models, until others replace them. */
interface Listed {
  models: readonly Model[]
  records: ReadonlyMap<string, ModelRecord>
  /** By type, then by id, trait or another provider's id, so that each type can have the same trait. */
  named: ReadonlyMap<Model['type'], ReadonlyMap<string, Model>>
}

/** The models that the service sells. Throws a sentence if a model is inconsistent or conflicts with another. */
export class Catalogue {
  readonly #shown: ShownAs
  readonly #clock: Clock
  #listed: Listed

  constructor(models: readonly Model[], { clock = systemClock, ...shown }: Partial<ShownAs> & { clock?: Clock } = {}) {
    this.#shown = { ownedBy: 'service', hasSearch: true, ...shown }
    this.#clock = clock
    this.#listed = listed(models, this.#shown)
  }

  /**
   * Sells these models from now on; calls that already have a model continue with it. Throws like the constructor, and
   * then changes nothing.
   */
  replace(models: readonly Model[]): void {
    this.#listed = listed(models, this.#shown)
  }

  /**
   * Finds a model of this type by its id, by a trait such as `default`, or by another provider's id. Throws
   * `modelNotFound`, also for a model of another type.
   */
  find<Type extends Model['type']>(type: Type, name: string): Extract<Model, { type: Type }> {
    const asked = this.asked(type, name)
    if (!asked) throw noSuchModel(type, name, this.#onSale())
    return this.#current(asked) as Extract<Model, { type: Type }>
  }

  /** Finds the named model itself, even if a replacement now answers for it. */
  asked(type: Model['type'], name: string): Model | null {
    return this.#listed.named.get(type)?.get(name) ?? null
  }

  /** Finds the model of a job, whatever has changed since the job was accepted. Throws `modelNotFound`. */
  ofJob(id: string): VideoModel | MusicModel {
    const model = this.asked('video', id) ?? this.asked('music', id)
    if (model?.type !== 'video' && model?.type !== 'music') throw modelNotFound()
    return model
  }

  /** Throws `modelGone` if it was removed and has no replacement. */
  #current(model: Model): Model {
    if (!isRemoved(model, this.#clock.now())) return model
    const replacement = this.asked(model.type, replacementOf(model) ?? '')
    if (!replacement) throw modelGone()
    return this.#current(replacement)
  }

  get models(): readonly Model[] {
    return this.#listed.models
  }

  /** The record of a model, whether or not it is on sale. */
  recordOf(id: string): ModelRecord | null {
    return this.#listed.records.get(id) ?? null
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

  /** Returns trait to model id. */
  traits(type: ModelType): Record<string, string> {
    return this.#names(type, model => model.traits)
  }

  /** Returns another provider's id to model id. */
  compatibleIds(type: ModelType): Record<string, string> {
    return this.#names(type, model => model.compatibleIds ?? [])
  }

  /** Names of a removed model lead to its replacement. */
  #names(type: ModelType, namesOf: (model: Model) => readonly string[]): Record<string, string> {
    const now = this.#clock.now()
    const models = this.#listed.models.filter(
      model => model.type === type && !(isRemoved(model, now) && replacementOf(model) === null),
    )
    return Object.fromEntries(models.flatMap(model => namesOf(model).map(name => [name, this.#current(model).id])))
  }
}

function listed(models: readonly Model[], { ownedBy, hasSearch }: ShownAs): Listed {
  if (models.length > modelCount) throw new Error(`A service lists at most ${modelCount} models.`)
  for (const model of models) checkModel(model)
  const ids = new Set(models.map(model => model.id))
  if (ids.size < models.length) throw new Error('Two models share an id.')
  const named = new Map<Model['type'], Map<string, Model>>()
  for (const model of models) addName(named, model, model.id)
  for (const model of models) for (const name of otherNames(model)) addName(named, model, name)
  for (const model of models) checkDeprecation(model, models)
  const shown = hasSearch ? models : models.map(withoutSearch)
  const records = shown.map(model => modelRecord(model, ownedBy))
  return { models, named, records: new Map(records.map(record => [record.id, record])) }
}

function addName(named: Map<Model['type'], Map<string, Model>>, model: Model, name: string): void {
  const ofType = named.get(model.type) ?? new Map<string, Model>()
  named.set(model.type, ofType)
  const other = ofType.get(name)
  if (other) throw new Error(`Models ${other.id} and ${model.id} share the name ${name}.`)
  ofType.set(name, model)
}

const withoutSearch = (model: Model): Model =>
  model.type === 'text' ? { ...model, capabilities: { ...model.capabilities, supportsWebSearch: false } } : model

function isOfType(model: Model, type: ModelType | 'all' | 'code'): boolean {
  // Clients of the published API do not know this type.
  if (type === 'all') return model.type !== 'background'
  if (type === 'code') return model.type === 'text' && model.capabilities.optimizedForCode
  return model.type === type
}

/**
 * The 404 for an unknown name of this type, with similar ids and where all ids are listed. It repeats nothing from the
 * request: a name that is found under another type is one of ours.
 */
function noSuchModel(type: Model['type'], name: string, models: readonly Model[]): ServiceError {
  const ids = models.filter(model => model.type === type).map(({ id }) => id)
  const other = models.find(model => model.type !== type && model.id === name)
  const near = other ? [] : nearNames(name, ids, namedModels)
  const shown = near.length ? near : ids.slice(0, namedModels)
  const what = other ? `: ${other.id} has the type ${other.type}, and this call needs the type ${type}` : ''
  if (!shown.length) return modelNotFound(undefined, `${what}. This service has no models of type ${type}.`)
  const which = near.length ? `Similar models of type ${type}` : `Models of type ${type}`
  return modelNotFound(undefined, `${what}. ${which}: ${shown.join(', ')}; GET /models?type=${type} lists them all.`)
}

/** Closes replaced models, once the last call that may use them has ended. */
export class ReplacedModels {
  readonly #inFlight: InFlight
  readonly #log: Log
  readonly #waiting = new Set<Model>()

  constructor({ inFlight, log }: { inFlight: InFlight; log: Log }) {
    this.#inFlight = inFlight
    this.#log = log
  }

  /**
   * Closes the engines of these models after every call that is in flight now; from now on no call starts with them.
   */
  async end(models: readonly Model[]): Promise<void> {
    for (const model of models) this.#waiting.add(model)
    await this.#inFlight.settled()
    await this.#close(models)
  }

  /** Closes models that still wait, for a service that has drained. */
  close(): Promise<void> {
    return this.#close([...this.#waiting])
  }

  async #close(models: readonly Model[]): Promise<void> {
    const due = models.filter(model => this.#waiting.delete(model))
    await Promise.all(due.map(model => this.#closeOne(model)))
  }

  async #closeOne({ id, close }: Model): Promise<void> {
    try {
      await close?.()
    } catch (error) {
      this.#log.warn({ model: id, err: error }, 'The engine of a replaced model could not be closed.')
    }
  }
}
