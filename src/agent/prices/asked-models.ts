import type { MicroUsd } from '#contract/money.ts'
import { type ModelRecord, modelsNamed } from '#contract/operations/models.ts'
import { parseModelSuffix } from '#contract/operations/service-parameters.ts'
import { named } from '#wallet/terms/about-call.ts'
import { shownIdCharacters } from '../bounds.ts'
import type { ModelRecords } from './model-records.ts'
import { mostOf } from './most-of-answering.ts'
import { noSuchModel, type PricedType } from './no-such-model.ts'

/** The trait that a service takes where a request names no model. */
export const defaultModel = 'default'

/** The models that may answer to a name, among all that the service lists. */
export interface AskedModels {
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
