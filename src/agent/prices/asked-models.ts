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

/** The trait that a service takes where a request names no model. */
export const defaultModel = 'default'

/** The models that may answer to a name, among all that the service lists. */
interface AskedModels {
  /** Empty where the service has the name and lists no model for it, so that its price is not known. */
  records: readonly ModelRecord[]
  all: readonly ModelRecord[]
  /** The name without the options behind it. */
  name: string
}

/**
 * What a request means by its model: an id, a trait, or another provider's id. Throws `UnknownModel` for a name that the
 * service has for no model of the type.
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
  // Only a farebox lists models that remove backgrounds, and other services are not asked about them.
  if (type === 'background' && ofType.length === 0) return { records: [], all, name }
  const id = (await models.otherNames(type))[name]
  if (id !== undefined) return { records: ofType.filter(record => record.id === id), all, name }
  // A service that lists no default may choose any of them.
  if (name === defaultModel) return { records: ofType, all, name }
  const { model: base } = type === 'text' ? parseModelSuffix(name) : { model: name }
  if (base !== name) return askedModels(models, type, base)
  throw noSuchModel(type, name, all.find(record => record.id === name) ?? null, all)
}

/**
 * The most that any model takes that may answer to this name; null where one of them has no bound. Throws `UnknownModel` as
 * `askedModels` does.
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

/** A model's name within a sentence. */
export const shownModel = (name: string | undefined): string =>
  name === undefined || name === defaultModel ? 'the default model' : named(name, shownIdCharacters)

/** The model that a call asks for, by the newer name of the member or the older one; empty where it names none. */
export function askedModel(call: object): string {
  const { model, modelId } = (call as { body?: { model?: unknown; modelId?: unknown } }).body ?? {}
  const asked = model ?? modelId
  return typeof asked === 'string' ? asked : ''
}

/** The service has no model of the type by this name, so nothing was asked, sent or paid. */
export class UnknownModel extends ToolFailure {}

/**
 * Why there is nothing of that type to be bought by this id: `record` is what the service has by it, null for nothing. It
 * names the models of the type that are most like it, or some where none is.
 */
export function noSuchModel(
  type: PricedType,
  id: string,
  record: ModelRecord | null,
  records: readonly ModelRecord[],
): UnknownModel {
  // The caller's own word, not the service's.
  const named = untrustedName(id, shownIdCharacters)
  const { one, many } = kinds[type]
  const names = records.filter(each => each.type === type).map(model => untrustedId(model.id, shownIdCharacters))
  // One that exists is no slip of the pen, so what its name is like tells nothing.
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

/** What models do, as the end of a sentence on one of them. */
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
