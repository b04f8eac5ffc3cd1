import type { Client } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import { nearNames } from '#contract/near-names.ts'
import {
  listModelCompatibilityMapping,
  listModels,
  listModelTraits,
  type ModelRecord,
  type ModelType,
  modelsNamed,
} from '#contract/operations/models.ts'
import { parseModelSuffix } from '#contract/operations/service-parameters.ts'
import { isAhead } from '#contract/time.ts'
import { nearModels } from '#toolkit/bounds.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { untrustedId, untrustedName } from '#toolkit/values/untrusted.ts'
import { named } from '#wallet/terms/about-call.ts'
import { modelsLifeMs, shownIdCharacters } from '../bounds.ts'
import { mostOf } from './priced-call.ts'

interface Known {
  records: readonly ModelRecord[]
  takesKeys: boolean
  atMs: number
}

type ModelNames = Readonly<Record<string, string | undefined>>

/** Caches the service's model records for a few minutes, because prices are looked up before every paid call. */
export class ModelRecords {
  readonly #client: Client
  #known: Known | null = null
  #backgrounds: Pick<Known, 'records' | 'atMs'> | null = null
  readonly #names = new Map<ModelType, { names: ModelNames; atMs: number }>()

  constructor(client: Client) {
    this.#client = client
  }

  async all(): Promise<readonly ModelRecord[]> {
    return (await this.#look()).records
  }

  /** Returns all records; for models that remove backgrounds also their separate list, which `all` does not contain. */
  async allFor(type: ModelType): Promise<readonly ModelRecord[]> {
    const all = await this.all()
    return type === 'background' ? [...all, ...(await this.#removeBackgrounds())] : all
  }

  /**
   * Returns the traits and other providers' ids that the service accepts for models of a type, each with the id that it
   * stands for.
   */
  async otherNames(type: ModelType): Promise<ModelNames> {
    const nowMs = this.#client.clock.now()
    const known = this.#names.get(type)
    if (known && isFresh(known, nowMs)) return known.names
    const call = { params: undefined, query: { type }, body: undefined } as const
    const [compatible, traits] = await Promise.all([
      ifListed(() => this.#client.call(listModelCompatibilityMapping, call)),
      ifListed(() => this.#client.call(listModelTraits, call)),
    ])
    const names = Object.assign(Object.create(null), compatible, traits) as ModelNames
    this.#names.set(type, { names, atMs: nowMs })
    return names
  }

  /** Returns whether the service does paid work once per `Idempotency-Key`; the list of models shows it. */
  async takesKeys(): Promise<boolean> {
    return (await this.#look()).takesKeys
  }

  async #look(): Promise<Known> {
    const nowMs = this.#client.clock.now()
    if (this.#known && isFresh(this.#known, nowMs)) return this.#known
    const { answer, headers } = await this.#client.call(listModels, {
      params: undefined,
      query: { type: 'all' },
      body: undefined,
    })
    this.#known = { records: answer.data, takesKeys: headers.takesKeys, atMs: nowMs }
    return this.#known
  }

  /** Farebox's own type: only a service that otherwise looks like farebox is asked for it. */
  async #removeBackgrounds(): Promise<readonly ModelRecord[]> {
    if (!(await this.takesKeys())) return []
    const nowMs = this.#client.clock.now()
    if (this.#backgrounds && isFresh(this.#backgrounds, nowMs)) return this.#backgrounds.records
    this.#backgrounds = { records: await this.#listBackgrounds(), atMs: nowMs }
    return this.#backgrounds.records
  }

  async #listBackgrounds(): Promise<readonly ModelRecord[]> {
    const call = { params: undefined, query: { type: 'background' }, body: undefined } as const
    try {
      return (await this.#client.call(listModels, call)).answer.data
    } catch (error) {
      // An older farebox has no such type; the user then decides without a known price.
      if (error instanceof ServiceError && error.status === 400) return []
      throw error
    }
  }
}

const isFresh = ({ atMs }: { atMs: number }, nowMs: number): boolean =>
  isAhead(atMs + modelsLifeMs, modelsLifeMs, nowMs)

/** Returns the aliases of models; none from a service that lists no aliases, or none for this type of model. */
async function ifListed(look: () => Promise<{ answer: { data: Record<string, string> } }>): Promise<object> {
  try {
    return (await look()).answer.data
  } catch (error) {
    if (error instanceof ServiceError && error.status >= 400 && error.status < 500 && error.status !== 429) return {}
    if (error instanceof ClientError && error.kind === 'unreadable') return {}
    throw error
  }
}

/** The trait that a service uses if a request names no model. */
export const defaultModel = 'default'

/** The models on the service's list that may match a name. */
interface AskedModels {
  /** Empty if the service knows the name but lists no model for it; its price is then unknown. */
  records: readonly ModelRecord[]
  all: readonly ModelRecord[]
  /** The name without the options after it. */
  name: string
}

/**
 * Resolves a request's model: an id, a trait, or another provider's id. Throws `UnknownModel` for a name that the
 * service does not know for this type.
 */
export async function askedModels(
  models: ModelRecords,
  type: PricedType,
  name: string = defaultModel,
): Promise<AskedModels> {
  const all = await models.allFor(type)
  const known = modelsNamed(all, type, name)
  if (known.length > 0) return { records: known, all, name }
  const ofType = all.filter(record => record.type === type)
  // Only farebox lists models that remove backgrounds, and other services are not asked about them.
  if (type === 'background' && ofType.length === 0) return { records: [], all, name }
  const id = (await models.otherNames(type))[name]
  if (id !== undefined) return { records: ofType.filter(record => record.id === id), all, name }
  // A service that lists no default may choose any of its models.
  if (name === defaultModel) return { records: ofType, all, name }
  const { model: base } = type === 'text' ? parseModelSuffix(name) : { model: name }
  if (base !== name) return askedModels(models, type, base)
  throw noSuchModel(type, name, all.find(record => record.id === name) ?? null, all)
}

/**
 * Returns the highest price of all models that may match this name; null if one of them has no maximum. Throws
 * `UnknownModel` like `askedModels`.
 */
export async function mostOfAsked(
  models: ModelRecords,
  type: PricedType,
  name: string | undefined,
  boundAt: (record: ModelRecord, all: readonly ModelRecord[]) => MicroUsd | null,
): Promise<MicroUsd | null> {
  const { records, all } = await askedModels(models, type, name)
  return records.length === 0 ? null : mostOf(records, record => boundAt(record, all))
}

/** Formats a model's name for a sentence. */
export const shownModel = (name: string | undefined): string =>
  name === undefined || name === defaultModel ? 'the default model' : named(name, shownIdCharacters)

/** Returns the model that a call asks for, by the newer or the older name of the member; empty if it names none. */
export function askedModel(call: object): string {
  const { model, modelId } = (call as { body?: { model?: unknown; modelId?: unknown } }).body ?? {}
  const asked = model ?? modelId
  return typeof asked === 'string' ? asked : ''
}

/** The service has no model of the type with this name, so nothing was called, sent or paid. */
export class UnknownModel extends ToolFailure {}

/**
 * Explains why no model of that type has this id: `record` is what the service has under it, null for nothing. Names
 * the most similar models of the type, or some of them if none is similar.
 */
export function noSuchModel(
  type: PricedType,
  id: string,
  record: ModelRecord | null,
  records: readonly ModelRecord[],
): UnknownModel {
  // The name comes from the caller, not from the service.
  const named = untrustedName(id, shownIdCharacters)
  const { one, many } = kinds[type]
  const names = records.filter(each => each.type === type).map(model => untrustedId(model.id, shownIdCharacters))
  // If the model exists, the name was not mistyped, so similar names do not help.
  const near = record ? [] : nearNames(id, names, nearModels)
  const [which, ids] = near.length > 0 ? ['Similar ones', near] : [many, names.slice(0, nearModels)]
  return new UnknownModel({
    happened: record ? `${named} is not ${one}; it ${doings[record.type]}.` : `The service has no model ${named}.`,
    charged: zeroUsd,
    next: ids.length > 0 ? `${which} are ${ids.join(', ')}; models_find lists them all.` : 'models_find shows the ids.',
  })
}

const kinds = {
  text: { one: 'a text model', many: 'Text models' },
  embedding: { one: 'an embedding model', many: 'Embedding models' },
  image: { one: 'an image model', many: 'Image models' },
  inpaint: { one: 'a model that edits images', many: 'Models that edit images' },
  upscale: { one: 'a model that upscales images', many: 'Models that upscale images' },
  background: { one: 'a model that removes backgrounds', many: 'Models that remove backgrounds' },
  tts: { one: 'a speech model', many: 'Speech models' },
  music: { one: 'a music model', many: 'Music models' },
  video: { one: 'a video model', many: 'Video models' },
  asr: { one: 'a transcription model', many: 'Transcription models' },
} as const

/** Types whose models are looked up here before they are paid. */
type PricedType = keyof typeof kinds

/** The end of a sentence about what each type of model does. */
const doings: Readonly<Record<ModelType, string>> = {
  asr: 'transcribes speech',
  embedding: 'makes embeddings',
  image: 'makes images',
  music: 'makes music',
  text: 'writes text',
  tts: 'speaks',
  upscale: 'upscales images',
  inpaint: 'edits images',
  video: 'makes videos',
  background: 'removes backgrounds',
}
