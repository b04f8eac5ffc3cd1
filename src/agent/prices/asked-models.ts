import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import { nearNames } from '#contract/near-names.ts'
import { type ModelRecord, type ModelType, modelsNamed } from '#contract/operations/models.ts'
import { parseModelSuffix } from '#contract/operations/service-parameters.ts'
import { nearModels } from '#toolkit/bounds.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { untrustedId, untrustedName } from '#toolkit/values/untrusted.ts'
import { named } from '#wallet/terms/about-call.ts'
import { shownIdCharacters } from '../bounds.ts'
import type { ModelRecords } from './model-records.ts'
import { mostOf } from './priced-call.ts'

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
